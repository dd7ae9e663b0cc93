// The reports for administrators (docs/contract/installer.md#administrator-records).

import type { Static } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { UserIdOutput } from '../../kernel/openapi/user-id.ts';
import {
  DatasetTypeOutput,
  Datetime,
  InstallTargetIds,
  StatusBlock,
  VdiId,
  VisibilityOutput,
} from './dataset-terms.ts';

const Count = Type.Integer({ minimum: 0 });
const Offset = Type.Integer({ minimum: 0, description: '0 without a limit' });
const Limit = Type.Integer({ minimum: -1, description: '-1 = no limit' });

export const AllDatasetsEntry = Type.Object({
  datasetId: VdiId,
  owner: UserIdOutput,
  datasetType: DatasetTypeOutput,
  visibility: VisibilityOutput,
  name: Type.String(),
  origin: Type.String(),
  installTargets: InstallTargetIds,
  status: StatusBlock,
  created: Datetime,
  isDeleted: Type.Boolean(),
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  programName: Type.Optional(Type.String()),
  projectName: Type.Optional(Type.String()),
});
export type AllDatasetsEntry = Static<typeof AllDatasetsEntry>;

export const AllDatasets = Type.Object({
  results: Type.Array(AllDatasetsEntry, { description: 'In the order of creation' }),
  meta: Type.Object({
    count: Count,
    offset: Offset,
    limit: Limit,
    total: Type.Integer({ minimum: 0, description: 'Without limit and offset, as it was when the answer began' }),
  }),
});
export type AllDatasets = Static<typeof AllDatasets>;

export const InternalDetails = Type.Object({
  datasetType: DatasetTypeOutput,
  owner: UserIdOutput,
  isDeleted: Type.Boolean(),
  origin: Type.String(),
  created: Datetime,
  inserted: Type.String({ format: 'date-time', description: 'Since when the cache knows it' }),
  name: Type.String(),
  installTargets: InstallTargetIds,
  status: Type.String({ description: 'Of the import' }),
  importMessages: Type.Array(Type.String()),
  visibility: VisibilityOutput,
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  syncControl: Type.Optional(
    Type.Object(
      { sharesUpdateTime: Datetime, dataUpdateTime: Datetime, metaUpdateTime: Datetime },
      { description: 'Which changes of the object store the cache reflects; 1970-01-01T00:00:00.000Z = none yet' },
    ),
  ),
  uploadFiles: Type.Optional(Type.Array(Type.String())),
  installFiles: Type.Optional(Type.Array(Type.String())),
});
export type InternalDetails = Static<typeof InternalDetails>;

export const BrokenImport = Type.Object({
  datasetId: VdiId,
  owner: UserIdOutput,
  datasetType: DatasetTypeOutput,
  installTargets: InstallTargetIds,
  messages: Type.Array(Type.String()),
});
export type BrokenImport = Static<typeof BrokenImport>;

const Asked = Type.Optional(Type.String({ minLength: 10, maxLength: 19, description: 'As it was asked for' }));

export const BrokenImports = Type.Object({
  results: Type.Array(BrokenImport),
  meta: Type.Object({
    count: Type.Integer({ minimum: 0, description: 'Records in the result' }),
    before: Asked,
    after: Asked,
    user: Type.Optional(UserIdOutput),
    limit: Limit,
    offset: Offset,
  }),
});
export type BrokenImports = Static<typeof BrokenImports>;

export const BrokenInstall = Type.Object({
  datasetId: VdiId,
  owner: UserIdOutput,
  datasetType: DatasetTypeOutput,
  installTargets: InstallTargetIds,
  status: StatusBlock,
});
export type BrokenInstall = Static<typeof BrokenInstall>;

export const BrokenInstalls = Type.Object({
  details: Type.Optional(Type.Array(BrokenInstall, { description: 'When expanded' })),
  ids: Type.Optional(Type.Array(VdiId, { description: 'When not' })),
});
