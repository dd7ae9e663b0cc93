// `longshore jobs`: how much every lane has to do, then the jobs, oldest first.

import { LANES } from '../../engine/model/event.ts';
import { stringifyJson } from '../../engine/model/json.ts';
import { JOB_STATES } from '../../engine/ports/job-admin.ts';
import { parse } from '../arguments.ts';
import type { JobsReport, ReportedJob } from '../client/admin-client.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../client/admin-options.ts';
import { oneLine } from '../client/one-line.ts';
import { type Command, EXIT } from '../command.ts';
import { UsageError } from '../usage-error.ts';

const OPTIONS = {
  ...ADMIN_OPTIONS,
  lane: { type: 'string', values: LANES },
  state: { type: 'string', values: JOB_STATES },
} as const;

/** The most that the server gives at once; who has more dead jobs than this asks lane by lane. */
const LIMIT = 1_000;

export const jobs: Command = {
  name: 'jobs',
  usage: `longshore jobs [--lane ${LANES.join('|')}] [--state ${JOB_STATES.join('|')}]  ${ADMIN_USAGE}`,
  options: OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`'${positionals.join(' ')}': jobs takes options only`);
    const query = {
      ...(values.lane === undefined ? {} : { lane: values.lane }),
      ...(values.state === undefined ? {} : { state: values.state }),
      limit: LIMIT,
    };
    const report = await (await openAdminClient(values, io)).jobs(query, io.signal);
    io.out(values.json ? `${stringifyJson(report, 2)}\n` : describe(report));
    const { count, total } = report.meta;
    if (count < total) io.err(`the first ${count} of ${total} jobs; --lane and --state narrow the list\n`);
    return EXIT.ok;
  },
};

function describe({ lanes, results }: JobsReport): string {
  const head = ['lane', 'queued', 'running', 'delayed', 'dead', 'oldest'];
  const rows = lanes.map((lane) => [lane.lane, ...JOB_STATES.map((state) => lane[state]), `${lane.oldestSeconds} s`]);
  const table = [head, ...rows].map(
    ([lane, ...cells]) => `${String(lane).padEnd(16)}${cells.map((cell) => String(cell).padStart(9)).join('')}\n`,
  );
  return [...table, ...(results.length > 0 ? ['\n'] : []), ...results.map(line)].join('');
}

function line({ id, lane, datasetId, owner, state, tries, created, message }: ReportedJob): string {
  const why = message === undefined ? '' : `  ${oneLine(message)}`;
  return `${id}  ${lane}  ${state}  ${datasetId}  owner ${owner}  ${created}  tries ${tries}${why}\n`;
}
