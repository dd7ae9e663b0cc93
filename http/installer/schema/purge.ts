// POST /admin/rpc/object-store/purge-dataset.

import type { Static } from 'typebox';
import { parseUserId, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetAddress } from '../../../engine/model/object-key.ts';
import { Faults } from '../../kernel/input/faults.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { UserIdOutput } from '../../kernel/openapi/user-id.ts';
import { DatasetIdInput, VdiId } from './dataset-terms.ts';
import { CLOSED } from './details.ts';

/** As it is documented. */
export const PurgeBody = Type.Object({ userId: UserIdOutput, datasetId: VdiId }, CLOSED);

/** As it is checked: the number of a user has become text, which keeps its digits (model/json.ts). */
export const PurgeInput = Type.Object(
  {
    userId: Type.Unsafe<UserId>({ type: 'string', pattern: '^[1-9][0-9]{0,18}$' }),
    datasetId: DatasetIdInput,
  },
  CLOSED,
);
export type PurgeInput = Static<typeof PurgeInput>;

/** Throws 422 for a user whom the contract has no number for. */
export function purgedAddress({ userId, datasetId }: PurgeInput): DatasetAddress {
  const owner = parseUserId(userId);
  if (owner) return { owner, dataset: datasetId };
  const faults = new Faults();
  faults.add(['userId'], 'is higher than the id of any user');
  throw faults.refusal();
}
