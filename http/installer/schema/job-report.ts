// GET /admin/reports/jobs and POST /admin/rpc/jobs/{id}/retry.

import type { Static } from 'typebox';
import { LANES } from '../../../engine/model/event.ts';
import { JOB_STATES } from '../../../engine/ports/job-admin.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { UserIdOutput } from '../../kernel/openapi/user-id.ts';
import { Datetime, VdiId } from './dataset-terms.ts';

const Count = Type.Integer({ minimum: 0 });
const JobId = Type.Integer({ minimum: 1, format: 'int64' });
const Lane = Type.Enum([...LANES]);

export const LaneReport = Type.Object({
  lane: Lane,
  queued: Count,
  running: Count,
  delayed: Count,
  dead: Count,
  oldestSeconds: Type.Integer({ minimum: 0, description: 'How long the oldest job that could run has waited' }),
});

export const JobReportEntry = Type.Object({
  id: JobId,
  lane: Lane,
  datasetId: VdiId,
  owner: UserIdOutput,
  state: Type.Enum([...JOB_STATES]),
  tries: Type.Integer({ minimum: 0, description: 'Tries that failed so far' }),
  eventId: Type.Integer({ format: 'int64' }),
  message: Type.Optional(Type.String({ description: 'Why the last try failed' })),
  runAt: Type.Optional(Type.String({ format: 'date-time', description: 'From when on it may run; absent when dead' })),
  created: Datetime,
});
export type JobReportEntry = Static<typeof JobReportEntry>;

export const JobReport = Type.Object({
  meta: Type.Object({ count: Count, offset: Count, limit: Type.Integer({ minimum: 1 }), total: Count }),
  lanes: Type.Array(LaneReport, { description: 'Every lane, whatever is asked for' }),
  results: Type.Array(JobReportEntry, { description: 'Oldest first' }),
});
export type JobReport = Static<typeof JobReport>;

export const JobRetried = Type.Object({ id: JobId, state: Type.Enum(['queued']) });
export type JobRetried = Static<typeof JobRetried>;
