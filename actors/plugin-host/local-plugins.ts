// The lanes' calls of plugins whose host runs in the same process. They have the replies and failures of calls over HTTP
// (engine/adapters/plugins/plugin-http.ts), and their scripts get the same, but nothing is sent: the host reads the payload
// where the store keeps it, and writes an import's data where the lane needs it. Failures: local-call.ts.

import { join } from 'node:path';
import { checkFileName, fileNameKey, visible } from '../../engine/model/file-name.ts';
import {
  type CallIds,
  callIds,
  checkImport,
  type InstallRequest,
  sentInDetails,
  sentMetadata,
  type UninstallRequest,
} from '../../engine/model/plugin-requests.ts';
import {
  type InstallReply,
  jobIdOf,
  type PluginCall,
  type PluginFailure,
  type UninstallReply,
} from '../../engine/ports/plugin-client.ts';
import { defect, rejected } from '../../engine/runtime/failure.ts';
import { demandUsableManifest, type ImportDatasetInput, type ImportDatasetOutput } from '../tasks/import-dataset.ts';
import type {
  InstallDataInput,
  InstallFilesInput,
  InstallMetaInput,
  UninstallInput,
} from '../tasks/install-dataset.ts';
import type { LaneTasks, ObjectFile, TaskRunner } from '../tasks/task-map.ts';
import { type CallName, LocalCall, type LocalCallOptions, type Served } from './local-call.ts';
import { ObjectPayload, type PayloadStore } from './object-payload.ts';

export interface LocalPluginsOptions extends LocalCallOptions {
  /** Keys of the plugins that the host serves and that are called here. */
  readonly plugins: readonly string[];
  readonly store: PayloadStore;
}

/** Wraps `tasks`: those that call one of these plugins run here. */
export function withLocalPlugins(tasks: TaskRunner, options: LocalPluginsOptions): TaskRunner {
  const own = new Set(options.plugins);
  const calls: Calls = new LocalPlugins(options).calls;
  return {
    run(name, input, options) {
      if (!('plugin' in input) || !own.has(input.plugin)) return tasks.run(name, input, options);
      // Every task with a plugin is a call.
      const call = calls[name as CallName] as unknown as Task<typeof name>;
      return call(input, options.signal);
    },
  };
}

type Task<Name extends keyof LaneTasks> = (
  input: LaneTasks[Name]['input'],
  signal: AbortSignal,
) => Promise<LaneTasks[Name]['output']>;
type Calls = { readonly [Name in CallName]: Task<Name> };

class LocalPlugins {
  readonly #options: LocalPluginsOptions;

  constructor(options: LocalPluginsOptions) {
    this.#options = options;
  }

  readonly calls: Calls = {
    'import-dataset': (input, signal) => this.#import(input, signal),
    'install-data': (input, signal) => this.#installData(input, signal),
    'install-meta': (input, signal) => this.#installMeta(input, signal),
    'install-files': (input, signal) => this.#installFiles(input, signal),
    uninstall: (input, signal) => this.#uninstall('uninstall', input, signal),
    'uninstall-files': (input, signal) => this.#uninstall('uninstall-files', input, signal),
  };

  async #import(input: ImportDatasetInput, signal: AbortSignal): Promise<ImportDatasetOutput> {
    const { host, store } = this.#options;
    const call = new LocalCall('import-dataset', input, this.#options, signal);
    const object = new ObjectPayload(input.payload, store);
    const outcome = await call.serve(async (workspace) => {
      const meta = sentInDetails(input.metadata);
      checkImport(meta);
      const request = { ...idsOf(input), jobId: jobIdOf(input.eventId), meta };
      const dataFile = join(input.scratchDir, 'install-ready.zip');
      const payload = await object.open(workspace.path('import.zip'), signal);
      return call.limited((until) => host.import(request, workspace, { payload, dataFile, withDigests: true }, until));
    }, object);
    if (outcome.kind !== 'imported') return importReply(outcome, call.where);
    const { manifest, messages: validation, data } = outcome;
    demandUsableManifest(manifest);
    const { file: dataFile, bytes: size, sha256 } = data;
    return {
      ...{ kind: 'success', manifest, validation, dataFile },
      ...(sha256 === undefined ? {} : { data: { size, sha256 } }),
    };
  }

  async #installData(input: InstallDataInput, signal: AbortSignal): Promise<InstallReply> {
    const { host, store } = this.#options;
    const call = new LocalCall('install-data', input, this.#options, signal);
    const object = new ObjectPayload(input.payload, store);
    const outcome = await call.serve(async (workspace) => {
      const request: InstallRequest = { ...idsOf(input), target: input.target, meta: sentMetadata(input.metadata) };
      if (!object.isInPlace) await host.expectInstall(request);
      const payload = await object.open(workspace.path('install-ready.zip'), signal);
      return call.limited((until) => host.installData(request, workspace, payload, until));
    }, object);
    return installReply(outcome, call.where);
  }

  async #installMeta(input: InstallMetaInput, signal: AbortSignal): Promise<InstallReply> {
    const { host, store } = this.#options;
    const call = new LocalCall('install-meta', input, this.#options, signal);
    const objects = input.properties.map((file) => [file, new ObjectPayload(file, store)] as const);
    const outcome = await call.serve(
      async (workspace) => {
        const request: InstallRequest = { ...idsOf(input), target: input.target, meta: sentInDetails(input.metadata) };
        const names = propertyNames(input.properties);
        for (const [file, object] of objects)
          await object.copyTo(join(await workspace.properties(), names.get(file) ?? ''), signal);
        return call.limited((until) => host.installMeta(request, workspace, until));
      },
      ...objects.map(([, object]) => object),
    );
    return installReply(outcome, call.where);
  }

  async #installFiles(input: InstallFilesInput, signal: AbortSignal): Promise<InstallReply> {
    const { host } = this.#options;
    const { target, source, metadata } = input;
    const call = new LocalCall('install-files', input, this.#options, signal);
    const outcome = await call.serve((workspace) => {
      const request = { ...idsOf(input), target, source, meta: sentInDetails(metadata) };
      return call.limited((until) => host.installFiles(request, workspace, until));
    });
    return installReply(outcome, call.where);
  }

  async #uninstall(
    name: 'uninstall' | 'uninstall-files',
    input: UninstallInput,
    signal: AbortSignal,
  ): Promise<UninstallReply> {
    const { host } = this.#options;
    const { target, type } = input;
    const call = new LocalCall(name, input, this.#options, signal);
    const outcome = await call.serve((workspace) => {
      const request: UninstallRequest = { ...idsOf(input), target, type };
      const run = name === 'uninstall' ? host.uninstall : host.uninstallFiles;
      return call.limited((until) => run.call(host, request, workspace, until));
    });
    return outcome.kind === 'done' ? { kind: 'success' } : failureReply(outcome, call.where);
  }
}

const idsOf = (input: PluginCall): CallIds => callIds(input.eventId, input.dataset);

/** The names that scripts see. */
function propertyNames(files: readonly ObjectFile[]): ReadonlyMap<ObjectFile, string> {
  const names = new Map<ObjectFile, string>();
  const taken = new Set<string>();
  for (const file of files) {
    const check = checkFileName(file.name);
    if ('fault' in check) throw rejected(`the file name '${visible(file.name)}' of data properties ${check.fault}`);
    const key = fileNameKey(check.name);
    if (taken.has(key)) throw rejected(`two files of the data properties are named '${check.name}'`);
    taken.add(key);
    names.set(file, check.name);
  }
  return names;
}

function installReply(outcome: Served, where: string): InstallReply {
  switch (outcome.kind) {
    case 'done':
      return { kind: 'success', validation: { basic: [], community: [] } };
    case 'valid':
      return { kind: 'success', validation: outcome.messages };
    case 'invalid':
      return { kind: 'invalid', validation: outcome.messages };
    case 'missing-dependency':
      return { kind: 'missing-dependency', messages: outcome.lines };
    default:
      return failureReply(outcome, where);
  }
}

const importReply = (outcome: Served, where: string): ImportDatasetOutput =>
  outcome.kind === 'invalid' ? { kind: 'invalid', validation: outcome.messages } : failureReply(outcome, where);

function failureReply(outcome: Served, where: string): PluginFailure {
  if (outcome.kind === 'script-error') {
    const { script: _, ...failure } = outcome;
    return failure;
  }
  if (outcome.kind === 'server-error') return outcome;
  throw defect(`${where}: '${outcome.kind}' is no outcome of this call`);
}
