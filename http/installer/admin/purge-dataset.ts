// POST /admin/rpc/object-store/purge-dataset: removes a dataset for good, whatever its state. The metadata document, which
// makes a dataset exist, is removed from the store, and the cache marks the dataset as pruning, which nobody can undo. The
// hardDelete lane uninstalls it and removes the rest. The lane learns of it by the event of that removal, and by a job, because
// there may be no metadata. The dataset's row stays locked meanwhile, so nobody else edits it.
//
//   the cache knows it                     state `pruning`, metadata removed, job
//   only the store knows it                metadata removed, job
//   only an install target knows it        job; also when a target does not answer
//   nobody knows it                        404

import type { Static } from 'typebox';
import { type DatasetId, parseUserId, type UserId } from '../../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix, objectKey } from '../../../engine/model/object-key.ts';
import type { Traceparent } from '../../../engine/model/traceparent.ts';
import type { DatasetEdits } from '../../../engine/ports/dataset-edits.ts';
import type { EventLog } from '../../../engine/ports/event-log.ts';
import type { InstallTarget } from '../../../engine/ports/install-target.ts';
import type { JobAdmin, Jobs } from '../../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { Faults } from '../../kernel/input/faults.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { type HttpError, notFound, unavailable } from '../../kernel/pipeline/errors.ts';
import { type Route, refusals } from '../../kernel/pipeline/route.ts';
import { DatasetIdInput, VdiId } from '../dataset-terms.ts';
import { CLOSED } from '../metadata/create-details.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

/** The body as the API documents it. */
const PurgeBody = Type.Named('PurgeBody', { userId: UserIdOutput, datasetId: VdiId }, CLOSED);

/** The body as it is validated: a user's number was parsed as text, which keeps all digits (engine/model/json.ts). */
const PurgeInput = Type.Object(
  {
    userId: Type.Unsafe<UserId>({ type: 'string', pattern: '^[1-9][0-9]{0,18}$' }),
    datasetId: DatasetIdInput,
  },
  CLOSED,
);
type PurgeInput = Static<typeof PurgeInput>;

/** Throws 422 when the number is higher than a user id can be. */
function purgedAddress({ userId, datasetId }: PurgeInput): DatasetAddress {
  const owner = parseUserId(userId);
  if (owner) return { owner, dataset: datasetId };
  const faults = new Faults();
  faults.add(['userId'], 'is higher than the id of any user');
  throw faults.refusal();
}

interface PurgeDatasetOptions {
  readonly store: Pick<ObjectStore, 'list' | 'remove'>;
  readonly edits: DatasetEdits;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly jobAdmin: Pick<JobAdmin, 'revive'>;
  readonly eventLog: Pick<EventLog, 'nextEventId'>;
  /** All enabled targets, to tell a dataset that only a target knows from one that does not exist. */
  readonly sites: readonly Pick<InstallTarget, 'state'>[];
  readonly clock: Clock;
}

const MAX_BODY_BYTES = 1024;
/** The dataset's lanes wait for this. */
const WORK_MS = 15_000;
const RETRY_SECONDS = 5;

export function purgeDatasetRoute(options: PurgeDatasetOptions): Route {
  const read = checkedJsonBody(PurgeInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  return {
    method: 'POST',
    servedWhenFull: true,
    path: '/admin/rpc/object-store/purge-dataset',
    access: 'admin',
    operationId: 'purgeDataset',
    summary:
      'Removes one dataset or revision for good: from install targets, object store and cache. There is no way back',
    body: { description: 'The dataset and its owner', content: { 'application/json': { ...PurgeBody } } },
    responses: {
      204: { description: 'Accepted; users no longer see it, and it will be removed' },
      ...refusals({
        ...ADMIN_REFUSALS,
        400: 'The body is not JSON or too large',
        404: 'The user has no such dataset',
        415: 'The body is not JSON',
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
  // A dead job would only be marked as wanted again.
  if (await jobAdmin.revive('hardDelete', at.dataset, signal)) return;
  const eventId = await eventLog.nextEventId(signal);
  await jobs.enqueue([{ lane: 'hardDelete', ...at, eventId, source: 'admin' }], signal);
}

/** False when the cache does not know the dataset. The state lets the lane remove everything even if the metadata stay. */
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

/** True also when a target does not answer; if no target has the dataset, the lane then has nothing to do. */
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
