// PUT /datasets/{id}: an upload that replaces a dataset. It becomes a dataset of its own, with the metadata of the old one and
// the changes of the request. The old one is replaced once the new one is installed everywhere.
//
//   refused    the dataset may not be revised now; checked before any byte is read, and again before the end
//   accepted   the new dataset exists, with everything needed to finish it, and the shares of the old one
//   lost       another revision came first or is being received, under whatever number: 409, nothing is left

import { type DataType, type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { DatasetRecord } from '../../../engine/ports/catalog.ts';
import type { EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { conflict, forbidden } from '../../kernel/pipeline/errors.ts';
import type { Created, KeyedRequest } from '../../kernel/pipeline/idempotency.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import {
  demandNewest,
  ifMatch,
  type MetadataSource,
  type OwnerEditOptions,
  ownerEdit,
  requireMetadataMatch,
  withNewestMetadata,
} from '../dataset-edit.ts';
import { datasetParam } from '../dataset-terms.ts';
import { checkFiles } from '../metadata/details-rules.ts';
import type { PatchCheck } from '../metadata/patch-check.ts';
import { RevisionDetails, type RevisionPatch, readRevisionPatch } from '../metadata/patch-details.ts';
import {
  keepShares,
  nextHistory,
  nextRevisionId,
  type ShareDocument,
  shareDocuments,
  tellOfShares,
} from './revision-history.ts';
import type { UploadForm } from './upload-form.ts';
import { Accepted, type UploadIntake, uploadBody } from './upload-intake.ts';

interface RevisionBaseOptions extends OwnerEditOptions {
  readonly queries: Pick<DatasetQueries, 'family'>;
  readonly store: MetadataSource;
}

export interface RevisionBase {
  readonly dataset: EditableDataset;
  /** The newest revision that is not deleted. Differs from `dataset` if a later revision failed. */
  readonly newest: DatasetRecord;
  /** Of all known revisions. */
  readonly highestNumber: number;
}

/**
 * The dataset in the path, if the caller is its owner and it can be revised: it is live, its import has ended without an
 * internal error, and nothing of its newest revision is in progress. Otherwise throws what the contract prescribes.
 */
async function revisionBase(options: RevisionBaseOptions, context: RequestContext): Promise<RevisionBase> {
  const cached = await ownerEdit(options, context, 404, async (now) => ({ changes: [], result: now }));
  demandNewest(cached);
  const dataset = await withNewestMetadata(cached, options.store, context.signal);
  requireMetadataMatch(context.request.headers, dataset.sync.meta);
  demandImported(dataset);
  const family = await options.queries.family(dataset.dataset, context.signal);
  const newest = family?.newest ?? dataset;
  demandIdle(newest);
  return { dataset, newest, highestNumber: family?.highestNumber ?? 0 };
}

function demandImported({ dataset, upload, import: imported }: EditableDataset): void {
  switch (upload.status) {
    case 'rejected':
    case 'failed':
      throw forbidden(`dataset ${dataset} cannot be revised: its upload was not accepted`);
    case 'running':
    case 'success':
      break;
    default:
      throw upload.status satisfies never;
  }
  switch (imported?.status) {
    // The owner corrects the data and keeps the metadata.
    case 'invalid':
    case 'complete':
      return;
    case 'failed':
      throw forbidden(`dataset ${dataset} cannot be revised: its import failed`);
    default:
      throw forbidden(`dataset ${dataset} cannot be revised yet: it is not imported`);
  }
}

/** A revision that failed is no obstacle: the new one takes its place. */
function demandIdle({ dataset, upload, import: imported, installs }: DatasetRecord): void {
  if (upload.status === 'running') throw busy(dataset, 'its upload is not over');
  if (imported?.status === 'queued' || imported?.status === 'in-progress')
    throw busy(dataset, `its import is ${imported.status}`);
  for (const { target, kind, status } of installs)
    if (kind === 'data' && (status === 'running' || status === 'queued'))
      throw busy(dataset, `its installation on ${target} is ${status}`);
}

const busy = (dataset: DatasetId, why: string): Error =>
  forbidden(`the newest revision ${dataset} is still under way: ${why}; try again when that has ended`);

interface ReviseOptions extends RevisionBaseOptions {
  readonly intake: UploadIntake;
  readonly patches: Pick<PatchCheck, 'check'>;
  readonly dataTypes: DataTypes;
  readonly store: Pick<ObjectStore, 'put' | 'get' | 'head'>;
}

export function reviseRoute(options: ReviseOptions): Route {
  return {
    method: 'PUT',
    path: '/datasets/:id',
    access: 'user',
    keyed: true,
    operationId: 'reviseDataset',
    summary: 'Uploads a new revision of a dataset',
    params: datasetParam,
    headers: ifMatch,
    body: uploadBody(RevisionDetails),
    responses: {
      202: answer('Accepted for processing; Location names the new revision', Accepted),
      ...refusals({
        400: 'The body cannot be used, or is larger than an upload may be or than the storage quota allows',
        403: 'Not the owner; or the dataset is deleted, replaced or not imported, or its newest revision is under way',
        404: 'No such dataset',
        409: 'Another revision is being uploaded, or another request uses one of uploadIds',
        412: 'The metadata are not those that If-Match names',
        415: 'The body is neither multipart/form-data nor JSON',
        422: 'Metadata, files or URL are not accepted',
        424: 'Nothing can be fetched from the URL',
        425: 'The metadata of the dataset are not in the object store yet',
        429: 'Too many uploads at once',
      }),
    },
    handler: (context) =>
      context.once(
        (print) => options.intake.print(context, context.userId, print),
        (keyed) => revise(options, context, keyed),
      ),
  };
}

async function revise(
  options: ReviseOptions,
  context: RequestContext,
  keyed: KeyedRequest | undefined,
): Promise<Created> {
  const { intake, store } = options;
  const base = await revisionBase(options, context);
  const { owner, dataset: revised } = base.dataset;
  const address = { owner, dataset: await nextRevisionId(base, store, context.signal) };
  let shares: readonly ShareDocument[] = [];
  const created = await intake.take<RevisionPatch>(context, {
    address,
    keyed,
    judge: (body) => {
      const details = readRevisionPatch(body, context.version);
      const { type } = judged(options, base, details);
      return { details, type, faults: details.faults };
    },
    describe: async (form) => documentOf(options, base, form, address.dataset).metadata,
    complete: async (form, session, signal) => {
      // The dataset may have changed while the body was received.
      const latest = await revisionBase(options, context);
      if (latest.newest.dataset !== base.newest.dataset)
        throw conflict(`dataset ${latest.newest.dataset} became the newest revision meanwhile`);
      const { metadata, type } = documentOf(options, latest, form, address.dataset);
      checkFiles(type, metadata.visibility, form, form.faults);
      form.faults.throwIfAny();
      shares = shareDocuments(address, latest.dataset.shares);
      await keepShares(session, shares, signal);
      // In the cache at once, too: the next revision takes them from there, and may be made before the sharing lane has run.
      return { metadata, shares: latest.dataset.shares };
    },
  });
  await tellOfShares(shares, { ...options, log: context.log });
  context.log.info({ owner, dataset: address.dataset, revised }, 'dataset revised');
  return created;
}

interface Judged {
  readonly metadata: DatasetMetadata;
  readonly type: DataType;
}

/** The patched document, without the revision's history yet. Throws 422 with all faults. */
function judged({ patches, dataTypes, clock }: ReviseOptions, { dataset }: RevisionBase, patch: RevisionPatch): Judged {
  const metadata = patches.check(dataset.metadata, patch, new Date(clock.now()), () => undefined);
  if (!metadata) throw patch.faults.refusal();
  const type = dataTypes.find(metadata.type);
  if (!type) {
    // A patch may keep a type that is not registered any more, but nothing can be uploaded for it.
    patch.faults.add(['type'], `is ${quote(typeKey(metadata.type))}, which is not registered any more`);
    throw patch.faults.refusal();
  }
  return { metadata, type };
}

function documentOf(
  options: ReviseOptions,
  base: RevisionBase,
  { details, url }: UploadForm<RevisionPatch>,
  dataset: DatasetId,
): Judged {
  const { metadata, type } = judged(options, base, details);
  const { sourceUrl: _before, ...kept } = metadata;
  const now = new Date(options.clock.now());
  const revisionHistory = nextHistory(base.newest, { dataset, note: details.note ?? '', now });
  return { metadata: { ...kept, ...(url === undefined ? {} : { sourceUrl: url }), revisionHistory }, type };
}
