// PUT /datasets/{id}: a new upload that takes the place of a dataset. It becomes a dataset of its own, with the metadata of
// the old one changed by the request; the old one is replaced once the new one is installed everywhere.
//
//   refused    the dataset may not be revised now: before any byte is read, and again before the end
//   accepted   the new dataset exists, with everything needed to finish it, and the shares of the old one
//   lost       another revision came first or is being received, under whatever number: 409, nothing is left

import { type DataType, type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { conflict } from '../../kernel/pipeline/errors.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { checkFiles } from '../checks/file-rules.ts';
import type { PatchCheck } from '../checks/patch-check.ts';
import { type RevisionPatch, readRevisionPatch } from '../checks/revision-patch.ts';
import { Accepted } from '../schema/accepted.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { ifMatch } from '../schema/if-match.ts';
import { RevisionDetails } from '../schema/revision-details.ts';
import { uploadBody } from '../schema/upload-body.ts';
import type { UploadForm } from '../uploads/upload-form.ts';
import { answerAccepted, type UploadIntake } from '../uploads/upload-intake.ts';
import { keepShares, type ShareDocument, shareDocuments, tellOfShares } from './carried-shares.ts';
import { nextHistory, nextRevisionId } from './next-revision.ts';
import { type RevisionBase, type RevisionBaseOptions, revisionBase } from './revision-base.ts';

export interface ReviseOptions extends RevisionBaseOptions {
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
        409: 'Another revision is being uploaded',
        412: 'The metadata are not those that If-Match names',
        415: 'The body is not multipart/form-data',
        422: 'Metadata, files or URL are not accepted',
        424: 'Nothing can be fetched from the URL',
        425: 'The metadata of the dataset are not in the object store yet',
        429: 'Too many uploads at once',
      }),
    },
    handler: (context) => revise(options, context),
  };
}

async function revise(options: ReviseOptions, context: RequestContext): Promise<void> {
  const { intake, store } = options;
  const base = await revisionBase(options, context);
  const { owner, dataset: revised } = base.dataset;
  const address = { owner, dataset: await nextRevisionId(base, store, context.signal) };
  let shares: readonly ShareDocument[] = [];
  await intake.take<RevisionPatch>(context, {
    address,
    judge: (body) => {
      const details = readRevisionPatch(body, context.version);
      const { type } = judged(options, base, details);
      return { details, type, faults: details.faults };
    },
    describe: async (form) => documentOf(options, base, form, address.dataset).metadata,
    complete: async (form, session, signal) => {
      // What was true when the first byte came may not be when the last one has.
      const latest = await revisionBase(options, context);
      if (latest.newest.dataset !== base.newest.dataset)
        throw conflict(`dataset ${latest.newest.dataset} became the newest revision meanwhile`);
      const { metadata, type } = documentOf(options, latest, form, address.dataset);
      checkFiles(type, metadata.visibility, form, form.faults);
      form.faults.throwIfAny();
      shares = shareDocuments(address, latest.dataset.shares);
      await keepShares(session, shares, signal);
      return metadata;
    },
  });
  await tellOfShares(shares, { ...options, log: context.log });
  context.log.info({ owner, dataset: address.dataset, revised }, 'dataset revised');
  await answerAccepted(context, address);
}

interface Judged {
  readonly metadata: DatasetMetadata;
  readonly type: DataType;
}

/** The document before it is a revision's; throws 422 with what is wrong. */
function judged({ patches, dataTypes, clock }: ReviseOptions, { dataset }: RevisionBase, patch: RevisionPatch): Judged {
  const metadata = patches.check(dataset.metadata, patch, new Date(clock.now()), () => undefined);
  if (!metadata) throw patch.faults.refusal();
  const type = dataTypes.find(metadata.type);
  if (!type) {
    // It may have been there before, and so is no fault of a patch; but nothing can be uploaded for it.
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
