// People in responses.

import type { Static } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { UserIdOutput } from '../../kernel/openapi/user-id.ts';

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
