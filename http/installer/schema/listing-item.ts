// One element of GET /datasets (docs/contract/installer.md#dataset-listing).

import type { Static } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';
import {
  DatasetTypeOutput,
  Datetime,
  InstallTargetIds,
  StatusBlock,
  VdiId,
  VisibilityOutput,
} from './dataset-terms.ts';
import { ListedShare, Owner } from './people.ts';

export const ListingItem = Type.Object({
  datasetId: VdiId,
  owner: Owner,
  type: DatasetTypeOutput,
  visibility: VisibilityOutput,
  name: Type.String(),
  origin: Type.String(),
  installTargets: InstallTargetIds,
  status: StatusBlock,
  shares: Type.Array(ListedShare),
  fileCount: Type.Integer({ minimum: 0 }),
  fileSizeTotal: Type.Integer({ minimum: 0, format: 'int64' }),
  created: Datetime,
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  originalId: Type.Optional(VdiId),
});
export type ListingItem = Static<typeof ListingItem>;

export const Listing = Type.Array(ListingItem);
