// People in responses. A user id is a JSON integer on the wire and decimal text in the program (model/json.ts).

import type { Static } from 'typebox';
import type { UserId } from '../../../engine/model/ids.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';

export const UserIdOutput = Type.Unsafe<UserId>({ type: 'integer', format: 'int64', minimum: 1 });

export const Owner = Type.Object({
  userId: UserIdOutput,
  firstName: Type.String(),
  lastName: Type.String(),
  email: Type.String(),
  affiliation: Type.String(),
});
export type Owner = Static<typeof Owner>;

/** A share as the listing shows it (docs/contract/installer.md#dataset-listing). */
export const ListedShare = Type.Object({
  userId: UserIdOutput,
  firstName: Type.String(),
  lastName: Type.String(),
  affiliation: Type.String(),
  accepted: Type.Boolean(),
});
export type ListedShare = Static<typeof ListedShare>;

/** A share as the details show it to the owner. */
export const ShareDetails = Type.Object({ recipient: Owner, status: Type.Enum(['grant', 'revoke']) });
export type ShareDetails = Static<typeof ShareDetails>;
