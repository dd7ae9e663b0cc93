// A person's change of a dataset under one deadline for all; and the owner's, refused to others in the contract's words.

import { type DatasetId, parseDatasetId } from '../../../engine/model/ids.ts';
import type { DatasetEdits, DecidedEdit, EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { ShareRecord } from '../../../engine/ports/dataset-queries.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { forbidden, gone, notFound, unavailable } from '../../kernel/pipeline/errors.ts';
import { sightOf } from '../details/access.ts';

export interface OwnerEditOptions {
  readonly edits: DatasetEdits;
  readonly clock: Clock;
}

/** The dataset's lanes wait as long as an edit takes: none may take longer. */
const EDIT_MS = 15_000;
const RETRY_SECONDS = 5;

/**
 * Has the owner of the dataset in the path, or an administrator where the route lets one in, change it. `decide` gets
 * the dataset while nobody else can change it; what it throws is the answer. Who may only see the dataset gets 403, who
 * cannot see it 404, and who knew it before 410 where the route has that answer (`goneIs`).
 */
export function ownerEdit<Result>(
  options: OwnerEditOptions,
  context: RequestContext,
  goneIs: 404 | 410,
  decide: (now: EditableDataset, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
): Promise<Result> {
  return editDataset(options, context, async (now, dataset, signal) => {
    demandOwner(now, dataset, context, goneIs);
    return decide(now, signal);
  });
}

/** Has the dataset in the path changed; whether the caller may do that, `decide` has to see. */
export async function editDataset<Result>(
  { edits, clock }: OwnerEditOptions,
  context: RequestContext,
  decide: (now: EditableDataset | undefined, dataset: DatasetId, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
): Promise<Result> {
  const id = context.param('id');
  const dataset = parseDatasetId(id);
  if (!dataset) throw notFound(`there is no dataset '${id}'`);
  const late = (): Error => unavailable(`dataset ${dataset} could not be changed in time; try again`, RETRY_SECONDS);
  using limit = deadline(clock, EDIT_MS, context.signal, late);
  const traced = async (now: EditableDataset | undefined, signal: AbortSignal): Promise<DecidedEdit<Result>> => ({
    ...(await decide(now, dataset, signal)),
    traceparent: context.traceparent,
  });
  return edits.edit(dataset, traced, limit.signal);
}

/** Throws unless the caller may change the dataset. A deleted one is still its owner's. */
function demandOwner(
  now: EditableDataset | undefined,
  dataset: DatasetId,
  context: RequestContext,
  goneIs: 404 | 410,
): asserts now is EditableDataset {
  const absent = notFound(`there is no dataset '${dataset}'`);
  if (!now) throw absent;
  if (context.caller.kind === 'admin' || now.owner === context.userId) return;
  switch (sightOf({ ...now, shares: shareRecords(now) }, context.userId)) {
    case 'visible':
      throw forbidden(`dataset ${dataset} can be changed by its owner only`);
    case 'gone':
      throw goneIs === 410 ? gone(`dataset ${dataset} is deleted, or no longer shared with you`) : absent;
    case 'absent':
      throw absent;
  }
}

/** The shares as a viewer's sight asks for them. */
export const shareRecords = ({ shares }: EditableDataset): readonly ShareRecord[] =>
  shares.map(({ recipient, offer, receipt }) => ({
    recipient,
    granted: offer === 'grant',
    accepted: receipt === 'accept',
  }));
