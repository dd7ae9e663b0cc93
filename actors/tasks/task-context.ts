// What a task can use in its thread: the read half of the object store, a client per plugin, and a downloader for URLs. Opened
// once per thread.

import type { Readable } from 'node:stream';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import type { PluginClient, StreamedFile } from '../../engine/ports/plugin-client.ts';
import type { RemoteFiles } from '../../engine/ports/remote-files.ts';
import { defect, transient } from '../../engine/runtime/failure.ts';

export interface TaskContext {
  readonly store: Pick<ObjectStore, 'get' | 'head' | 'list'>;
  /** By the plugin's key in the configuration. */
  readonly plugins: ReadonlyMap<string, PluginClient>;
  /** Undefined where uploads by URL are rejected. */
  readonly remote?: RemoteFiles | undefined;
  readonly signal: AbortSignal;
}

/** An object that a task streams to a plugin. */
export interface ObjectFile {
  readonly key: string;
  /** File name that the plugin sees. */
  readonly name: string;
  readonly size: number;
}

export const objectFile = (info: ObjectInfo, name: string): ObjectFile => ({ key: info.key, name, size: info.size });

export function streamed(file: ObjectFile, context: TaskContext): StreamedFile {
  return {
    name: file.name,
    size: file.size,
    async open(signal): Promise<Readable> {
      const opened = await context.store.get(file.key, undefined, signal);
      // It existed a moment ago, so it was replaced or removed since. The next attempt sees the new state.
      if (!opened || opened.info.size !== file.size) {
        opened?.body.destroy();
        throw transient(`object ${file.key} changed while it was read`);
      }
      return opened.body;
    },
  };
}

export function pluginOf(context: TaskContext, plugin: string): PluginClient {
  const client = context.plugins.get(plugin);
  if (!client) throw defect(`thread has no client for plugin ${plugin}`);
  return client;
}
