// The registered plugins as GET /plugins shows them.

import type { DataType, DataTypes } from '../../../engine/model/data-types.ts';
import type { TargetId } from '../../../engine/model/ids.ts';
import type { PluginOutput } from '../schema/plugin.ts';

/**
 * One entry per plugin, or one per set of projects when the types of a plugin are restricted to different ones: an
 * entry's `installTargets` then holds for each of its types.
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
