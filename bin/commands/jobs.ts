// `longshore jobs`: prints how many jobs each lane has, then the jobs, oldest first.

import { JOB_STATES } from '../../engine/ports/jobs.ts';
import { implement } from '../cli/arguments.ts';
import type { JobsReport, ReportedJob } from '../cli/client/admin-reports.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { type Command, type CommandIo, EXIT, UsageError } from '../cli/command.ts';
import { table } from '../cli/terminal/table.ts';
import { duration, jsonDocument } from '../cli/terminal/text.ts';
import { JOBS } from '../cli/tree/administration.ts';

/** The maximum that the server returns at once. To see more dead jobs than this, filter by lane. */
const LIMIT = 1_000;

export const jobs: Command = implement(JOBS, async ({ values }, io) => {
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
});

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

export function jobId(text: string): number {
  const id = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id))
    throw new UsageError(
      `'${text}' is not a job ID: expected a positive whole number, as \`longshore jobs\` lists them`,
    );
  return id;
}
