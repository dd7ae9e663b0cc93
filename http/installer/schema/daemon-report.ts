// GET and POST /admin/rpc/datasets/reconcile and /admin/rpc/datasets/prune.

import type { Static, TSchema } from 'typebox';
import { PRUNER_SKIPS } from '../../../engine/ports/daemon-orders.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { Datetime } from './dataset-terms.ts';

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const started = Datetime;
const ended = Type.Optional(Type.String({ format: 'date-time', description: 'Absent while the run goes on' }));
const failure = Type.Optional(Type.String({ description: 'Why the run ended early' }));

export const ReconcileReport = Type.Object({
  kind: Type.Enum(['full', 'slim']),
  started,
  ended,
  listed: Count('Datasets with at least one object in the store'),
  malformed: Count('Of these, such without readable metadata: left as they are'),
  reconciled: Count('Handed to the reconciliation lane'),
  absent: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description: 'Datasets that the store does not have, by the database that knows them: cache, or an install target',
  }),
  deleted: Count('Handed to the hardDelete lane'),
  spared: Count('Absent from the listing, but there when looked for by themselves: not deleted'),
  leftOut: Type.Array(Type.Object({ installTarget: Type.String(), reason: Type.String() }), {
    description: 'Install targets that did not answer',
  }),
  braked: Type.Optional(Type.String({ description: 'Why nothing was deleted although datasets are absent' })),
  failure,
});
export type ReconcileReport = Static<typeof ReconcileReport>;

export const PruneReport = Type.Object({
  started,
  ended,
  cutoff: Type.String({ format: 'date-time', description: 'Flags older than this made a dataset due' }),
  pruned: Count('Handed to the hardDelete lane to be removed'),
  trimmed: Count('Superseded revisions handed to the hardDelete lane to be trimmed'),
  skipped: Type.Object(
    Object.fromEntries(PRUNER_SKIPS.map((skip) => [skip, Type.Optional(Type.Integer({ minimum: 0 }))])),
    { description: 'Those that stay for now, by the reason' },
  ),
  failures: Count('Datasets that could not be told about'),
  failure,
});
export type PruneReport = Static<typeof PruneReport>;

const runsOf = <Report extends TSchema>(report: Report) =>
  Type.Object({
    current: Type.Optional(report),
    last: Type.Optional(report),
  });

/** Of the process that answers; neither is there before its first run. */
export const ReconcileRuns = runsOf(ReconcileReport);
export type ReconcileRuns = Static<typeof ReconcileRuns>;
export const PruneRuns = runsOf(PruneReport);
export type PruneRuns = Static<typeof PruneRuns>;

export const ReconcileStarted = Type.Object({
  state: Type.Enum(['started']),
  kind: Type.Enum(['full']),
  allowDeletes: Type.Boolean(),
});
export type ReconcileStarted = Static<typeof ReconcileStarted>;

export const PruneStarted = Type.Object({
  state: Type.Enum(['started']),
  ageCutoff: Type.Optional(Type.String({ description: 'Absent: the retention that is configured' })),
});
export type PruneStarted = Static<typeof PruneStarted>;
