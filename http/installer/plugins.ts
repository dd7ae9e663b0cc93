// GET /plugins: the registered plugins and their data types.

import type { Static } from 'typebox';
import type { DataType, DataTypes } from '../../engine/model/data-types.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import { answer, refusals } from '../kernel/pipeline/responses.ts';
import type { Route } from '../kernel/pipeline/route.ts';
import { DatasetTypeOutput, InstallTargetIds } from './dataset-terms.ts';
import type { InstallTargets } from './install-targets.ts';
import { InstallTargetId } from './metadata/create-details.ts';
import { askedTarget } from './paging.ts';

// GET /plugins (docs/contract/installer.md#plugins).

const PluginOutput = Type.Object({
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
type PluginOutput = Static<typeof PluginOutput>;

const Plugins = Type.Array(PluginOutput);

/**
 * One entry per plugin. If the types of a plugin are restricted to different projects, it has one entry per set of projects,
 * whose `installTargets` apply to each type of the entry.
 * @param target only types that apply to it
 * @param maxUploadBytes caps every type's file size
 */
export function pluginsView(
  dataTypes: DataTypes,
  target: TargetId | undefined,
  maxUploadBytes: number,
): readonly PluginOutput[] {
  const entries = new Map<string, PluginOutput>();
  for (const type of dataTypes.all()) {
    if (target !== undefined && !dataTypes.appliesTo(type, target)) continue;
    const key = JSON.stringify([type.plugin, [...type.projectIds].sort()]);
    const entry = entries.get(key) ?? newEntry(type);
    entry.dataTypes.push(dataTypeView(type, maxUploadBytes));
    entries.set(key, entry);
  }
  return [...entries.values()];
}

function newEntry(type: DataType): PluginOutput {
  const restricted = type.projectIds.length > 0 ? { installTargets: [...type.projectIds] } : {};
  return { pluginName: type.plugin, dataTypes: [], ...restricted };
}

function dataTypeView(type: DataType, maxUploadBytes: number): PluginOutput['dataTypes'][number] {
  return {
    name: type.name,
    version: type.version,
    category: type.category,
    maxFileSize: Math.min(type.maxFileSize, maxUploadBytes),
    usesDataProperties: type.usesDataProperties,
    allowedFileExtensions: [...type.allowedFileExtensions],
  };
}

interface PluginsOptions {
  readonly dataTypes: DataTypes;
  readonly targets: InstallTargets;
  readonly settings: { readonly maxUploadBytes: number };
}

const TARGET = 'install-target';

export function pluginsRoute({ dataTypes, targets, settings }: PluginsOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/plugins',
    access: 'user-or-guest',
    operationId: 'listPlugins',
    summary: 'Lists plugins and their data types',
    query: {
      [TARGET]: { description: 'Only types usable with this install target', schema: { ...InstallTargetId } },
    },
    responses: { 200: answer('Plugins', Plugins), ...refusals({ 400: 'No such install target' }) },
    handler: async (context) => {
      const target = askedTarget(targets, TARGET, context.query[TARGET]);
      await context.json(200, pluginsView(dataTypes, target, settings.maxUploadBytes));
    },
  };
}
