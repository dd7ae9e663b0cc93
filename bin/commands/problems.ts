// `longshore problems`, `retry` and `discard`: lists, retries and discards what failed for good.

import type { ProblemLane } from '../../engine/ports/problems.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { durationOf, implement } from '../cli/arguments.ts';
import type { AdminClient } from '../cli/client/admin-client.ts';
import type { HandledProblems, ProblemQuery } from '../cli/client/admin-reports.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { type Command, type CommandIo, EXIT, type ExitCode, UsageError } from '../cli/command.ts';
import { Questions } from '../cli/terminal/questions.ts';
import { table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';
import { DISCARD, PROBLEMS, RETRY } from '../cli/tree/problems.ts';
import { jobId } from './jobs.ts';

/** The maximum that the server returns at once. */
const LIMIT = 1_000;
const CAUSES_LIMIT = 200;
const MOMENT_LENGTH = '2026-01-02T03:04:05'.length;

type Values = Parameters<
  Parameters<typeof implement<typeof PROBLEMS.arguments, typeof PROBLEMS.options>>[1]
>[0]['values'];
type Filters = Omit<Values, 'causes'>;
type Order = Filters & { readonly all: boolean; readonly 'dry-run': boolean; readonly yes: boolean };

export const problems: Command = implement(PROBLEMS, async ({ values }, io) => {
  const client = await openAdminClient(values, io);
  const query = queryOf(values);
  if (values.causes) {
    const causes = await client.problemCauses({ ...query, limit: String(CAUSES_LIMIT) }, io.signal);
    const rows = causes.map((one) => [one.count, one.lane, one.state, one.newest, one.example.id, one.cause] as const);
    io.out(values.json ? jsonDocument(causes) : table(CAUSE_COLUMNS, rows, io.outTerminal));
    if (causes.length === CAUSES_LIMIT)
      io.err(`the ${CAUSES_LIMIT} most frequent causes; narrow the list for others\n`);
    return EXIT.ok;
  }
  const { results, next } = await client.problems({ ...query, limit: String(LIMIT) }, io.signal);
  const rows = results.map(
    (one) => [one.id, one.state, one.type ?? '', String(one.owner ?? ''), one.since, one.message] as const,
  );
  io.out(values.json ? jsonDocument(results) : table(COLUMNS, rows, io.outTerminal));
  if (next !== undefined) io.err(`the first ${results.length} problems; narrow the list, or use --causes\n`);
  return EXIT.ok;
});

/** A number is a job's id, as `longshore jobs` lists it. */
export const retry: Command = implement(RETRY, async ({ values, args: { id: ids } }, io) => {
  const jobs = ids.filter((id) => !id.includes(':')).map(jobId);
  const others = ids.filter((id) => id.includes(':'));
  for (const job of jobs) {
    const retried = await (await openAdminClient(values, io)).retry(job, io.signal);
    io.out(values.json ? jsonLine(retried) : `job ${retried.id} ${retried.state}\n`);
  }
  return jobs.length > 0 && others.length === 0 ? EXIT.ok : follow('retry', others, values, {}, io);
});

export const discard: Command = implement(DISCARD, ({ values, args: { id } }, io) =>
  follow('discard', id, values, { reason: values.reason }, io),
);

async function follow(
  name: 'retry' | 'discard',
  ids: readonly string[],
  values: Order,
  more: Readonly<Record<string, string>>,
  io: CommandIo,
): Promise<ExitCode> {
  const query = queryOf(values);
  if (ids.length === 0 && Object.keys(query).length === 0 && !values.all)
    throw new UsageError(`name problems, narrow the selection with options such as --cause, or ${name} --all`);
  const order = { ...query, ...more, ...(ids.length > 0 ? { ids } : {}), ...(values.all ? { all: true } : {}) };
  const client = await openAdminClient(values, io);
  if (!values['dry-run'] && ids.length === 0 && !(await isConfirmed(client, name, order, values, io)))
    return EXIT.failed;
  let handled = await client.problemOrder(name, { ...order, dryRun: values['dry-run'] }, io.signal);
  for (let { next } = handled; next !== undefined; ) {
    const part = await client.problemOrder(name, { ...order, after: next }, io.signal);
    handled = added(handled, part);
    next = part.next;
  }
  const { next: _next, ...whole } = handled;
  io.out(values.json ? jsonLine(whole) : describe(whole, name, io));
  const missing = ids.length - whole.problems;
  if (missing > 0) io.err(`${missing} of the named problems do not exist, or not any more\n`);
  return missing > 0 ? EXIT.failed : EXIT.ok;
}

/** Asks only at a terminal, and only about more than one problem. */
async function isConfirmed(
  client: AdminClient,
  name: string,
  order: object,
  { yes }: Order,
  io: CommandIo,
): Promise<boolean> {
  const terminal = yes ? undefined : io.errTerminal;
  const keyboard = terminal && io.keyboard?.();
  if (!terminal || !keyboard) return true;
  const { problems: count } = await client.problemOrder(name, { ...order, dryRun: true }, io.signal);
  if (count <= 1) return true;
  using questions = new Questions(keyboard, terminal.write, io.signal);
  const refuse = (text: string) => (/^(y(es)?|no?)$/i.test(text) ? undefined : 'yes or no');
  return /^y/i.test(await questions.ask({ text: `${name} ${count} problems`, refuse, fallback: 'no' }));
}

function queryOf(values: Filters): ProblemQuery {
  const { lane, state, plugin, type, target, owner, dataset, contains, cause } = values;
  const asked = { lane, state, plugin, type, target, owner, dataset, contains, cause };
  const moments = { before: momentOf('older-than', values), from: momentOf('newer-than', values) };
  return Object.fromEntries(
    Object.entries({ ...asked, ...moments }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function momentOf(option: 'older-than' | 'newer-than', values: Filters): string | undefined {
  const text = values[option];
  if (text === undefined) return undefined;
  return new Date(systemClock.now() - durationOf(option, text)).toISOString().slice(0, MOMENT_LENGTH);
}

function added(whole: HandledProblems, part: HandledProblems): HandledProblems {
  const lanes = new Map<ProblemLane, HandledProblems['lanes'][number]>();
  for (const one of [...whole.lanes, ...part.lanes]) {
    const { problems: count = 0, done = 0, skipped = {} } = lanes.get(one.lane) ?? {};
    const sums = Object.entries(one.skipped).map(([why, n]) => [why, n + (skipped[why] ?? 0)] as const);
    lanes.set(one.lane, {
      ...{ lane: one.lane, problems: one.problems + count, done: one.done + done },
      skipped: { ...skipped, ...Object.fromEntries(sums) },
    });
  }
  const sum = { problems: whole.problems + part.problems, done: whole.done + part.done };
  return { dryRun: whole.dryRun, ...sum, lanes: [...lanes.values()] };
}

function describe({ dryRun, problems: count, done, lanes }: HandledProblems, name: string, io: CommandIo): string {
  const past = name === 'retry' ? 'retried' : 'discarded';
  const sum = dryRun ? `${count} problems would be ${past}` : `${done} of ${count} problems ${past}`;
  const rows = lanes.map((one) => [
    one.lane,
    one.problems,
    ...(dryRun ? [] : [one.done]),
    Object.entries(one.skipped)
      .map(([why, n]) => `${n} ${why}`)
      .join(', '),
  ]);
  const columns = [
    { head: 'lane', whole: true },
    { head: 'problems', align: 'right' },
    ...(dryRun ? [] : [{ head: past, align: 'right' } as const]),
    { head: dryRun ? '' : 'left alone' },
  ] as const;
  return `${table(columns, rows, io.outTerminal)}${sum}\n`;
}

const COLUMNS = [
  { head: 'id', whole: true },
  { head: 'state', whole: true },
  { head: 'type' },
  { head: 'owner', whole: true },
  { head: 'since', whole: true },
  { head: 'message' },
] as const;

const CAUSE_COLUMNS = [
  { head: 'count', align: 'right' },
  { head: 'lane', whole: true },
  { head: 'state', whole: true },
  { head: 'newest', whole: true },
  { head: 'example', whole: true },
  { head: 'cause', whole: true },
] as const;
