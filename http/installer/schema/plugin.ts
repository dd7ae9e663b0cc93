// GET /plugins (docs/contract/installer.md#plugins).

import type { Static } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { DatasetTypeOutput, InstallTargetIds } from './dataset-terms.ts';

export const PluginOutput = Type.Object({
  pluginName: Type.String(),
  dataTypes: Type.Array(
    Type.Object({
      ...DatasetTypeOutput.properties,
      maxFileSize: Type.Integer({ minimum: 0, format: 'int64' }),
      usesDataProperties: Type.Boolean(),
      allowedFileExtensions: Type.Array(Type.String()),
    }),
  ),
  /** Absent = usable on any project. */
  installTargets: Type.Optional(InstallTargetIds),
});
export type PluginOutput = Static<typeof PluginOutput>;

export const Plugins = Type.Array(PluginOutput);
