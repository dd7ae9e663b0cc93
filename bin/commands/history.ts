// `longshore history ID`: the life of a dataset, one entry per line. Plugin calls, and what scripts printed, are indented below.

import { implement, wholeNumber } from '../cli/arguments.ts';
import type { ReportedCall, ReportedEntry } from '../cli/client/admin-reports.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { digits, jsonLine, oneLine, plainLines } from '../cli/terminal/text.ts';
import { HISTORY } from '../cli/tree/administration.ts';

/** Most entries that the server returns at once. */
const PAGE = 1_000;
const MOST_ENTRIES = 1_000_000;
const INDENT = '    ';
/** The length of the longest lane name, `reconciliation`. */
const WHO_WIDTH = 14;

export const history: Command = implement(HISTORY, async ({ values, args: { dataset } }, io) => {
  const limit =
    values.limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber('limit', values.limit, 1, MOST_ENTRIES);
  const order = values['newest-first'] ? 'newest-first' : 'oldest-first';
  const client = await openAdminClient(values, io);
  let left = limit;
  for (let after: string | undefined; ; ) {
    const asked = { order, limit: Math.min(left, PAGE), ...(after === undefined ? {} : { after }) } as const;
    const { results, next } = await client.datasetHistory(dataset, asked, io.signal);
    io.out(results.map((entry) => (values.json ? jsonLine(entry) : `${linesOf(entry).join('\n')}\n`)).join(''));
    left -= results.length;
    if (next === undefined || left <= 0) return EXIT.ok;
    after = next;
  }
});

function linesOf({ at, request, job }: ReportedEntry): readonly string[] {
  const line = (who: string, what: string): string => `${at}  ${who.padEnd(WHO_WIDTH)}  ${oneLine(what)}`;
  if (request) {
    const { actor, method, route, status, outcome } = request;
    const by = actor.id === undefined ? actor.kind : `${actor.kind} ${actor.id}`;
    return [line('request', `${method} ${route} by ${by}: ${status ?? outcome}`)];
  }
  if (!job) return [line('', '')];
  const { lane, outcome, attempt, ms, process, message, calls = [] } = job;
  const facts = [
    outcome,
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
    ...(ms === undefined ? [] : [time(ms)]),
    ...(process === undefined ? [] : [`process ${process.instance} (${process.host}, pid ${process.pid})`]),
  ];
  return [line(lane, `${facts.join(', ')}${message === undefined ? '' : `: ${message}`}`), ...calls.flatMap(callLines)];
}

function callLines({ call, plugin, target, ms, outcome, exitCode, message, output }: ReportedCall): readonly string[] {
  const what = [call, ...(plugin === undefined ? [] : [plugin]), ...(target === undefined ? [] : [`on ${target}`])];
  const end = [outcome, ...(exitCode === undefined ? [] : [`exit code ${exitCode}`]), time(ms)];
  const said = output === undefined ? [] : plainLines(output).split('\n');
  return [
    `${INDENT}${oneLine(`${what.join(' ')}: ${end.join(', ')}${message === undefined ? '' : `: ${message}`}`)}`,
    ...said.map((text) => `${INDENT}| ${text}`),
  ];
}

const time = (ms: number): string => `${digits(ms / 1_000)} s`;
