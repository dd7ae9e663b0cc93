// GET /service-meta: what a site needs to know before it lets a user upload.

import type { Static } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { InstallTargetIdOutput } from './dataset-terms.ts';

export const ServiceMeta = Type.Object({
  buildInfo: Type.Object({ name: Type.String(), version: Type.String(), node: Type.String() }),
  configuration: Type.Object({
    api: Type.Object({
      maxUploadSize: Type.Integer({ format: 'int64' }),
      userMaxStorageSize: Type.Integer({ format: 'int64' }),
    }),
    daemons: Type.Object({
      reconciler: Type.Object({
        enabled: Type.Boolean(),
        fullRunInterval: Type.String(),
        slimRunInterval: Type.String(),
        performDeletes: Type.Boolean(),
      }),
    }),
    installTargets: Type.Array(Type.Object({ id: InstallTargetIdOutput, name: Type.String() })),
  }),
  features: Type.Object({ supportedArchiveTypes: Type.Array(Type.String()) }),
});
export type ServiceMeta = Static<typeof ServiceMeta>;
