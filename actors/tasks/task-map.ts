// The tasks that lanes run in worker threads: names, inputs and outputs. Everything here crosses a thread boundary, so it is
// plain data.

import type { UserId } from '../../engine/model/ids.ts';
import type { ObjectInfo, ObjectReader, ObjectStore, OpenObject } from '../../engine/ports/object-store.ts';
import type { PluginClient, StreamedFile, Validation } from '../../engine/ports/plugin-client.ts';
import type { RemoteFiles } from '../../engine/ports/remote-files.ts';
import { defect, type Failure, transient } from '../../engine/runtime/failure.ts';
import type { FetchUploadInput, FetchUploadOutput } from './fetch-upload.ts';
import type { ImportDatasetInput, ImportDatasetOutput } from './import-dataset.ts';
import type {
  InstallDataInput,
  InstallFilesInput,
  InstallMetaInput,
  InstallOutput,
  UninstallInput,
  UninstallOutput,
} from './install-dataset.ts';
import type { PackUploadInput, PackUploadOutput } from './pack-upload.ts';

export type LaneTasks = {
  readonly 'fetch-upload': { readonly input: FetchUploadInput; readonly output: FetchUploadOutput };
  readonly 'pack-upload': { readonly input: PackUploadInput; readonly output: PackUploadOutput };
  readonly 'import-dataset': { readonly input: ImportDatasetInput; readonly output: ImportDatasetOutput };
  readonly 'install-data': { readonly input: InstallDataInput; readonly output: InstallOutput };
  readonly 'install-meta': { readonly input: InstallMetaInput; readonly output: InstallOutput };
  readonly 'install-files': { readonly input: InstallFilesInput; readonly output: InstallOutput };
  readonly 'uninstall-files': { readonly input: UninstallInput; readonly output: UninstallOutput };
  readonly uninstall: { readonly input: UninstallInput; readonly output: UninstallOutput };
};

interface TaskRunOptions {
  readonly signal: AbortSignal;
  /** Run it in a thread that runs nothing else. */
  readonly alone: boolean;
  /** Owner of the dataset: where tasks queue, owners take turns. */
  readonly owner: UserId;
}

/** How a lane runs a task, normally in a thread. An abort stops the task, gracefully first. */
export interface TaskRunner {
  run<Name extends keyof LaneTasks>(
    name: Name,
    input: LaneTasks[Name]['input'],
    options: TaskRunOptions,
  ): Promise<LaneTasks[Name]['output']>;
}

/** Both lists, for a status that has only one. */
export const allMessages = (validation: Validation): readonly string[] => [
  ...validation.basic,
  ...validation.community,
];

// What a task can use in its thread: the read half of the object store, a client per plugin, and a downloader for URLs. Opened
// once per thread.

export interface TaskContext {
  readonly store: ObjectReader;
  /** By the plugin's key in the configuration. */
  readonly plugins: ReadonlyMap<string, PluginClient>;
  /** Undefined where uploads by URL are rejected. */
  readonly remote?: RemoteFiles | undefined;
  readonly signal: AbortSignal;
}

/** An object that a plugin gets. */
export interface ObjectFile {
  readonly key: string;
  /** File name that the plugin sees. */
  readonly name: string;
  readonly size: number;
  readonly etag: string;
}

export const objectFile = ({ key, size, etag }: ObjectInfo, name: string): ObjectFile => ({ key, name, size, etag });

/** Fails when it is no longer the object that the lane has seen. */
export async function openObject(
  { key, size, etag }: ObjectFile,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<OpenObject> {
  const opened = await store.get(key, undefined, signal);
  // It existed a moment ago, so it was replaced or removed since. The next attempt sees the new state.
  if (!opened || opened.info.size !== size || opened.info.etag !== etag) {
    opened?.body.destroy();
    throw changedWhileRead(key);
  }
  return opened;
}

export const changedWhileRead = (key: string): Failure => transient(`object ${key} changed while it was read`);

export function streamed(file: ObjectFile, { store }: Pick<TaskContext, 'store'>): StreamedFile {
  const { name, size } = file;
  return { name, size, open: async (signal) => (await openObject(file, store, signal)).body };
}

export function pluginOf(context: TaskContext, plugin: string): PluginClient {
  const client = context.plugins.get(plugin);
  if (!client) throw defect(`thread has no client for plugin ${plugin}`);
  return client;
}
