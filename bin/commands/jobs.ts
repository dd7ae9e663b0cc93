// `longshore jobs`: prints how many jobs each lane has, then the jobs, oldest first.

import { LANES } from '../../engine/model/event.ts';
import { JOB_STATES } from '../../engine/ports/jobs.ts';
import { parse } from '../cli/arguments.ts';
import type { JobsReport, ReportedJob } from '../cli/client/admin-client.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/admin-options.ts';
import { type Command, type CommandIo, EXIT } from '../cli/command.ts';
import { duration } from '../cli/terminal/amounts.ts';
import { jsonDocument } from '../cli/terminal/json-text.ts';
import { table } from '../cli/terminal/table.ts';
import { UsageError } from '../cli/usage-error.ts';

const OPTIONS = {
  ...ADMIN_OPTIONS,
  lane: { type: 'string', values: LANES },
  state: { type: 'string', values: JOB_STATES },
} as const;

/** The maximum that the server returns at once. To see more dead jobs than this, filter by lane. */
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
    io.out(values.json ? jsonDocument(report) : describe(report, io));
    const { count, total } = report.meta;
    if (count < total) io.err(`the first ${count} of ${total} jobs; use --lane and --state to narrow the list\n`);
    return EXIT.ok;
  },
};

const LANE_COLUMNS = [
  { head: 'lane' },
  ...[...JOB_STATES, 'oldest'].map((head) => ({ head, align: 'right' }) as const),
] as const;
const JOB_COLUMNS = [
  { head: 'job', align: 'right' },
  { head: 'lane', whole: true },
  { head: 'state', whole: true },
  { head: 'dataset', whole: true },
  { head: 'owner', whole: true },
  { head: 'created', whole: true },
  { head: 'attempts', align: 'right' },
  { head: 'message' },
] as const;

function describe({ lanes, results }: JobsReport, { outTerminal }: Pick<CommandIo, 'outTerminal'>): string {
  const depths = lanes.map((one) => [
    one.lane,
    ...JOB_STATES.map((state) => one[state]),
    one.oldestSeconds === 0 ? '' : duration(one.oldestSeconds),
  ]);
  const summary = table(LANE_COLUMNS, depths, outTerminal);
  return results.length === 0 ? summary : `${summary}\n${table(JOB_COLUMNS, results.map(row), outTerminal)}`;
}

const row = ({ id, lane, state, datasetId, owner, created, attempts, message }: ReportedJob) =>
  [id, lane, state, datasetId, owner, created, attempts, message ?? ''] as const;
