// The lanes' tasks without threads, archives and disks: an archive is the JSON text of its entries. Objects are read and
// the plugin is called through the gate like everything else.

import { hash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { ImportDatasetInput, ImportDatasetOutput } from '../../actors/tasks/import-dataset.ts';
import type {
  InstallDataInput,
  InstallFilesInput,
  InstallMetaInput,
  InstallOutput,
  UninstallInput,
} from '../../actors/tasks/install-dataset.ts';
import type { PackUploadInput, PackUploadOutput } from '../../actors/tasks/pack-upload.ts';
import { type LaneTasks, type ObjectFile, streamed, type TaskRunner } from '../../actors/tasks/task-map.ts';
import { digested } from '../../engine/model/digest.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { fileKey } from '../../engine/model/object-key.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { rejected, transient } from '../../engine/runtime/failure.ts';
import type { SimPlugin } from './sim-plugin.ts';
import type { SimScratch } from './sim-scratch.ts';

export interface TaskParts {
  readonly store: ObjectStore;
  readonly scratch: SimScratch;
  readonly plugin: SimPlugin;
  /** Waits until the thread may run the task; rejects when the thread dies. */
  readonly thread: (task: string, dataset: DatasetId, signal: AbortSignal) => Promise<void>;
  /** Has the plugin called. */
  readonly call: <Reply>(name: string, about: PluginCallAbout, act: () => Reply, signal: AbortSignal) => Promise<Reply>;
}

export interface PluginCallAbout {
  readonly dataset: DatasetId;
  /** Of the dataset; absent for imports. */
  readonly target?: string;
}

export class SimTasks implements TaskRunner {
  readonly #parts: TaskParts;

  constructor(parts: TaskParts) {
    this.#parts = parts;
  }

  async run<Name extends keyof LaneTasks>(
    name: Name,
    input: LaneTasks[Name]['input'],
    { signal }: { readonly signal: AbortSignal; readonly alone: boolean },
  ): Promise<LaneTasks[Name]['output']> {
    signal.throwIfAborted();
    const task = this.#tasks[name] as (
      input: LaneTasks[Name]['input'],
      signal: AbortSignal,
    ) => Promise<LaneTasks[Name]['output']>;
    await this.#parts.thread(name, 'at' in input ? input.at.dataset : input.dataset, signal);
    return structuredClone(await task(structuredClone(input), signal));
  }

  readonly #tasks: {
    readonly [Name in keyof LaneTasks]: (
      input: LaneTasks[Name]['input'],
      signal: AbortSignal,
    ) => Promise<LaneTasks[Name]['output']>;
  } = {
    // No upload of the simulation comes by URL.
    'fetch-upload': async ({ url }) => {
      throw rejected(`nothing is at ${url}`);
    },
    'pack-upload': (input, signal) => this.#pack(input, signal),
    'import-dataset': (input, signal) => this.#import(input, signal),
    'install-data': (input, signal) => this.#installData(input, signal),
    'install-meta': (input, signal) => this.#installMeta(input, signal),
    'install-files': (input, signal) => this.#installFiles(input, signal),
    'uninstall-files': (input, signal) => this.#uninstallFiles(input, signal),
    uninstall: (input, signal) => this.#uninstall(input, signal),
  };

  async #pack(input: PackUploadInput, signal: AbortSignal): Promise<PackUploadOutput> {
    const entries: Record<string, string> = {};
    const files: FileEntry[] = [];
    for (const { name } of input.files) {
      if (!input.allowedFileExtensions.some((extension) => name.endsWith(extension)))
        throw rejected(`'${name}' has a file extension that this data type does not allow`);
      const opened = await this.#parts.store.get(fileKey(input.at, 'raw', name), undefined, signal);
      if (!opened) throw transient(`object ${fileKey(input.at, 'raw', name)} is gone`);
      entries[name] = (await buffer(opened.body)).toString();
      files.push({ name, size: opened.info.size });
    }
    const zipFile = `${input.scratchDir}/import-ready.zip`;
    const content = Buffer.from(JSON.stringify(entries));
    this.#parts.scratch.write(zipFile, content);
    const rawBytes = files.reduce((sum, { size }) => sum + size, 0);
    return { zipFile, ...digested(files, written(content, entries)), rawBytes, notes: [], plain: [] };
  }

  async #import(input: ImportDatasetInput, signal: AbortSignal): Promise<ImportDatasetOutput> {
    const { dataset } = input;
    const content = await this.#read(input.payload, signal);
    const { plugin, scratch, call } = this.#parts;
    const reply = await call('import', { dataset }, () => plugin.import(dataset), signal);
    if (reply.kind !== 'success') return reply;
    const entries = Object.entries(JSON.parse(content) as Record<string, string>);
    const rawUploads = entries.map(([name, text]) => ({ name, size: Buffer.byteLength(text) }));
    const { files: installReady, zip: data } = digested(
      rawUploads,
      written(Buffer.from(content), Object.fromEntries(entries)),
    );
    const dataFile = `${input.scratchDir}/install-ready.zip`;
    scratch.write(dataFile, Buffer.from(content));
    return {
      kind: 'success',
      manifest: { rawUploads, installReady },
      validation: reply.validation,
      dataFile,
      data,
    };
  }

  async #installData(input: InstallDataInput, signal: AbortSignal): Promise<InstallOutput> {
    const { dataset, target, metadata } = input;
    const content = await this.#read(input.payload, signal);
    const properties = await this.#readAll(input.properties, signal);
    const act = (): InstallOutput => this.#parts.plugin.installData(dataset, target, { content, metadata, properties });
    return this.#parts.call('installData', { dataset, target }, act, signal);
  }

  async #installMeta(input: InstallMetaInput, signal: AbortSignal): Promise<InstallOutput> {
    const { dataset, target, metadata } = input;
    const properties = await this.#readAll(input.properties, signal);
    const act = (): InstallOutput => this.#parts.plugin.installMeta(dataset, target, { metadata, properties });
    return this.#parts.call('installMeta', { dataset, target }, act, signal);
  }

  #installFiles({ dataset, target, source, metadata }: InstallFilesInput, signal: AbortSignal): Promise<InstallOutput> {
    const { plugin, call } = this.#parts;
    const act = (): InstallOutput => plugin.installFiles(dataset, target, source, metadata);
    return call('installFiles', { dataset, target }, act, signal);
  }

  #uninstallFiles(
    { dataset, target }: UninstallInput,
    signal: AbortSignal,
  ): Promise<LaneTasks['uninstall-files']['output']> {
    const { plugin, call } = this.#parts;
    return call('uninstallFiles', { dataset, target }, () => plugin.uninstallFiles(dataset, target), signal);
  }

  #uninstall({ dataset, target }: UninstallInput, signal: AbortSignal): Promise<LaneTasks['uninstall']['output']> {
    const { plugin, call } = this.#parts;
    return call('uninstall', { dataset, target }, () => plugin.uninstall(dataset, target), signal);
  }

  async #readAll(files: readonly ObjectFile[], signal: AbortSignal): Promise<readonly string[]> {
    const read: string[] = [];
    for (const file of files) read.push(`${file.name}=${await this.#read(file, signal)}`);
    return read;
  }

  async #read(file: ObjectFile, signal: AbortSignal): Promise<string> {
    const context = { store: this.#parts.store, plugins: new Map(), signal };
    return (await buffer(await streamed(file, context).open(signal))).toString();
  }
}

/** What is said of an archive that was written. */
const written = (archive: Buffer, entries: Readonly<Record<string, string>>) => ({
  bytes: archive.length,
  digests: { archive: hash('sha256', archive), files: Object.values(entries).map((text) => hash('sha256', text)) },
});
