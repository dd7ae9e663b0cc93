// POST /admin/rpc/object-store/purge-dataset: removes a dataset for good, whatever state it is in. In the store the metadata
// go, which is what says that the dataset exists, and in the cache it is past taking back; the hardDelete lane uninstalls it
// and removes the rest. It is told by the event of that removal, and by a job of its own, since there may be no metadata.
// Nobody else edits the dataset meanwhile: its row is locked.
//
//   the cache knows it                     state `pruning`, metadata removed, job
//   only the store knows it                metadata removed, job
//   only an install target knows it        job; also when one cannot tell
//   nobody knows it                        404

import type { DatasetId } from '../../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix, objectKey } from '../../../engine/model/object-key.ts';
import type { Traceparent } from '../../../engine/model/traceparent.ts';
import type { DatasetEdits } from '../../../engine/ports/dataset-edits.ts';
import type { EventLog } from '../../../engine/ports/event-log.ts';
import type { InstallTarget } from '../../../engine/ports/install-target.ts';
import type { JobAdmin } from '../../../engine/ports/job-admin.ts';
import type { Jobs } from '../../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { soundJsonBody } from '../../kernel/bodies/body.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { type HttpError, notFound, unavailable } from '../../kernel/pipeline/errors.ts';
import { refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { PurgeBody, PurgeInput, purgedAddress } from '../schema/purge.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface PurgeDatasetOptions {
  readonly store: Pick<ObjectStore, 'list' | 'remove'>;
  readonly edits: DatasetEdits;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly jobAdmin: Pick<JobAdmin, 'revive'>;
  readonly eventLog: Pick<EventLog, 'nextEventId'>;
  /** Every enabled one, to tell a dataset that is left there alone from one that nobody knows. */
  readonly sites: readonly Pick<InstallTarget, 'state'>[];
  readonly clock: Clock;
}

const MAX_BODY_BYTES = 1024;
/** The dataset's lanes wait as long. */
const WORK_MS = 15_000;
const RETRY_SECONDS = 5;

export function purgeDatasetRoute(options: PurgeDatasetOptions): Route {
  const read = soundJsonBody(PurgeInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  return {
    method: 'POST',
    needsNoRoom: true,
    path: '/admin/rpc/object-store/purge-dataset',
    access: 'admin',
    operationId: 'purgeDataset',
    summary:
      'Removes one dataset or revision for good: from install targets, object store and cache. There is no way back',
    body: { description: 'The dataset and its owner', content: { 'application/json': { ...PurgeBody } } },
    responses: {
      204: { description: 'It will be removed; it is gone for its users already' },
      ...refusals({
        ...ADMIN_REFUSALS,
        400: 'The body is no JSON or too large',
        404: 'The user has no such dataset',
        415: 'The body is no JSON',
        422: 'The ids are missing or none',
        503: 'A database took too long',
      }),
    },
    handler: async (context) => {
      const at = purgedAddress(await read(context.request));
      context.concerns({ dataset: at.dataset, records: { owner: at.owner } });
      await purge(options, at, context);
      context.log.warn({ ...at }, 'dataset purged by an administrator');
      context.empty(204);
    },
  };
}

async function purge(options: PurgeDatasetOptions, at: DatasetAddress, context: RequestContext): Promise<void> {
  const { clock, jobs, jobAdmin, eventLog } = options;
  const late = (): Error => unavailable(`dataset ${at.dataset} could not be purged in time; try again`, RETRY_SECONDS);
  using limit = deadline(clock, WORK_MS, context.signal, late);
  const { signal } = limit;
  const known = (await inCache(options, at, context.traceparent, signal)) || (await inStore(options, at, signal));
  if (!known && !(await onSites(options, at.dataset, signal))) throw unknown(at);
  // A dead job would only note that it is wanted again.
  if (await jobAdmin.revive('hardDelete', at.dataset, signal)) return;
  const eventId = await eventLog.nextEventId(signal);
  await jobs.enqueue([{ lane: 'hardDelete', ...at, eventId, source: 'admin' }], signal);
}

/** False when the cache does not know the dataset. The state says that all is to go, even if the metadata could not. */
function inCache(
  { edits, store }: PurgeDatasetOptions,
  at: DatasetAddress,
  traceparent: Traceparent,
  signal: AbortSignal,
): Promise<boolean> {
  return edits.edit(
    at.dataset,
    async (now, until) => {
      if (!now) return { changes: [], result: false };
      if (now.owner !== at.owner) throw unknown(at);
      await store.remove([objectKey(at, 'vdi-meta.json')], until);
      return { changes: [{ set: 'state', state: 'pruning' }], result: true, traceparent };
    },
    signal,
  );
}

async function inStore({ store }: PurgeDatasetOptions, at: DatasetAddress, signal: AbortSignal): Promise<boolean> {
  for await (const _object of store.list(datasetPrefix(at), {}, signal)) {
    await store.remove([objectKey(at, 'vdi-meta.json')], signal);
    return true;
  }
  return false;
}

/** A target that cannot tell may know it; for a dataset that nobody knows the lane has nothing to do. */
async function onSites({ sites }: PurgeDatasetOptions, dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
  const answers = await Promise.all(
    sites.map((site) =>
      site.state(dataset, signal).then(
        ({ present }) => present,
        () => true,
      ),
    ),
  );
  return answers.includes(true);
}

const unknown = ({ owner, dataset }: DatasetAddress): HttpError =>
  notFound(`user ${owner} has no dataset '${dataset}'`);
