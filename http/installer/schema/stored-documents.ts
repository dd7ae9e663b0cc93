// Documents of the object store as they are shown: with the field names that existing buckets rely on.

import { STORED_VISIBILITIES, UPLOAD_STATUSES } from '../../../engine/model/status.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { UserIdOutput } from '../../kernel/openapi/user-id.ts';
import { InstallTargetIds } from './dataset-terms.ts';

/** What every document has; beside it stands whatever the owner said. */
export const StoredMetadata = Type.Object(
  {
    type: Type.Object({ name: Type.String(), version: Type.String() }),
    installTargets: Type.Optional(InstallTargetIds),
    visibility: Type.Optional(Type.Enum([...STORED_VISIBILITIES])),
    owner: UserIdOutput,
    name: Type.String(),
  },
  { additionalProperties: true },
);

export const StoredUploadError = Type.Object({
  status: Type.Enum(UPLOAD_STATUSES.filter((status) => status === 'rejected' || status === 'failed')),
  message: Type.String(),
});
