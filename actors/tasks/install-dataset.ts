// Thread side of the install and update-meta lanes: one plugin call for one target. Bodies are opened here, once per call, so
// that every target gets the whole payload.

import type { TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata, DatasetType } from '../../engine/model/metadata.ts';
import type { InstallReply, PluginCall, UninstallReply } from '../../engine/ports/plugin-client.ts';
import { type ObjectFile, pluginOf, streamed, type TaskContext } from './task-map.ts';

interface TargetCall extends PluginCall {
  readonly plugin: string;
  readonly target: TargetId;
}

export interface InstallMetaInput extends TargetCall {
  readonly metadata: DatasetMetadata;
  readonly properties: readonly ObjectFile[];
}

export interface InstallDataInput extends InstallMetaInput {
  /** Text of vdi-manifest.json. */
  readonly manifest: string;
  readonly payload: ObjectFile;
}

export interface InstallFilesInput extends TargetCall {
  readonly metadata: DatasetMetadata;
  /** A target where the dataset is installed already, with the rows that both targets share. */
  readonly source: TargetId;
}

export interface UninstallInput extends TargetCall {
  readonly type: DatasetType;
}

export type InstallOutput = InstallReply;
export type UninstallOutput = UninstallReply;

export function installData(input: InstallDataInput, context: TaskContext): Promise<InstallOutput> {
  const { plugin, payload, properties, ...call } = input;
  return pluginOf(context, plugin).installData(
    {
      ...call,
      payload: streamed(payload, context),
      properties: properties.map((file) => streamed(file, context)),
    },
    context.signal,
  );
}

export function installMeta(input: InstallMetaInput, context: TaskContext): Promise<InstallOutput> {
  const { plugin, properties, ...call } = input;
  return pluginOf(context, plugin).installMeta(
    { ...call, properties: properties.map((file) => streamed(file, context)) },
    context.signal,
  );
}

export function installFiles(input: InstallFilesInput, context: TaskContext): Promise<InstallOutput> {
  const { plugin, ...call } = input;
  return pluginOf(context, plugin).installFiles(call, context.signal);
}

export function uninstallFiles(input: UninstallInput, context: TaskContext): Promise<UninstallOutput> {
  const { plugin, ...call } = input;
  return pluginOf(context, plugin).uninstallFiles(call, context.signal);
}

export function uninstall(input: UninstallInput, context: TaskContext): Promise<UninstallOutput> {
  const { plugin, ...call } = input;
  return pluginOf(context, plugin).uninstall(call, context.signal);
}
