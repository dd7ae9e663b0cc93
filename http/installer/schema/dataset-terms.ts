// Terms that several responses share: ids, data type, times, status block (docs/contract/installer.md#shared-types).

import type { Static } from 'typebox';
import { DATASET_ID_TEXT, type DatasetId, type TargetId } from '../../../engine/model/ids.ts';
import { IMPORT_STATUSES, INSTALL_STATUSES, UPLOAD_STATUSES } from '../../../engine/model/status.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { VISIBILITIES } from './details.ts';

export const VdiId = Type.Unsafe<DatasetId>({ type: 'string', pattern: '^[a-zA-Z0-9_-]+$' });
/** In requests. Ids that another installer assigned may contain dots. */
export const DatasetIdInput = Type.Unsafe<DatasetId>({
  type: 'string',
  pattern: `^${DATASET_ID_TEXT}$`,
});
export const InstallTargetIdOutput = Type.Unsafe<TargetId>({ type: 'string', minLength: 5, maxLength: 32 });
export const InstallTargetIds = Type.Array(InstallTargetIdOutput, { uniqueItems: true });
export const Datetime = Type.String({ format: 'date-time' });
export const VisibilityOutput = Type.Enum([...VISIBILITIES]);

export const DatasetTypeOutput = Type.Object({
  name: Type.String({ minLength: 3 }),
  version: Type.String({ minLength: 1 }),
  category: Type.String({ minLength: 3 }),
});
export type DatasetTypeOutput = Static<typeof DatasetTypeOutput>;

const InstallState = Type.Object({
  status: Type.Enum([...INSTALL_STATUSES]),
  messages: Type.Optional(Type.Array(Type.String())),
});

/**
 * `import` is always there: queued until it begins, also when the upload was refused. `install` is empty until it is
 * complete; to callers that name no version, what is queued is not shown (views/status-block.ts).
 */
export const StatusBlock = Type.Object({
  upload: Type.Object({ status: Type.Enum([...UPLOAD_STATUSES]), message: Type.Optional(Type.String()) }),
  import: Type.Object({
    status: Type.Enum([...IMPORT_STATUSES]),
    messages: Type.Optional(Type.Array(Type.String())),
  }),
  install: Type.Array(
    Type.Object({ installTarget: InstallTargetIdOutput, meta: InstallState, data: Type.Optional(InstallState) }),
  ),
});
export type StatusBlock = Static<typeof StatusBlock>;
