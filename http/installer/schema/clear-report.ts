// GET and POST /admin/rpc/installs/clear-failed.

import type { Static } from 'typebox';
import { CLEAR_SKIPS } from '../../../engine/ports/failed-installs.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { DatasetIdInput, Datetime } from './dataset-terms.ts';
import { CLOSED, InstallTargetId } from './details.ts';

/** More are named in several requests. */
export const MAX_PLACES = 10_000;

export const ClearInput = Type.Object(
  {
    all: Type.Optional(Type.Boolean({ description: 'Everything that failed; instead of targets' })),
    targets: Type.Optional(
      Type.Array(Type.Object({ datasetId: DatasetIdInput, installTarget: InstallTargetId }, CLOSED), {
        minItems: 1,
        maxItems: MAX_PLACES,
        description: 'Only these installs; those that have not failed are passed over',
      }),
    ),
  },
  CLOSED,
);
export type ClearInput = Static<typeof ClearInput>;

const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const ClearView = Type.Object({
  started: Datetime,
  ended: Type.Optional(Type.String({ format: 'date-time', description: 'Absent while the run goes on' })),
  skipRun: Type.Boolean(),
  datasets: Count('Datasets looked at'),
  cleared: Count('Installs, of metadata or data on one target, that may be tried again'),
  jobs: Count('Jobs that will try them'),
  skipped: Type.Object(
    Object.fromEntries(CLEAR_SKIPS.map((skip) => [skip, Type.Optional(Type.Integer({ minimum: 0 }))])),
    { description: 'Installs that stay as they are, by the reason' },
  ),
  failures: Count('Datasets that could not be dealt with'),
  failure: Type.Optional(Type.String({ description: 'Why the run ended early' })),
});
export type ClearView = Static<typeof ClearView>;

/** Of the process that answers; neither is there before its first run. */
export const ClearRuns = Type.Object({ current: Type.Optional(ClearView), last: Type.Optional(ClearView) });
export type ClearRuns = Static<typeof ClearRuns>;

export const ClearStarted = Type.Object({ state: Type.Enum(['started']), skipRun: Type.Boolean() });
export type ClearStarted = Static<typeof ClearStarted>;
