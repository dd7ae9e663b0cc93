// The plugin host: finds the plugin of a call, waits for the dataset's turn, runs the scripts. It is called by the routes of
// http/plugin-host/ and, without HTTP, by the lanes of the same process (local-plugins.ts).

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type {
  CallIds,
  ImportRequest,
  InstallFilesRequest,
  InstallRequest,
  TargetRequest,
  UninstallRequest,
} from '../../engine/model/plugin-requests.ts';
import type { CallOutcome, Imported } from '../../engine/ports/plugin-client.ts';
import type { ScriptRunner } from '../../engine/ports/script-runner.ts';
import { Failure, rejected } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { Archives } from '../tasks/archives.ts';
import { CallGate, type CallGateLimits } from './call-gate.ts';
import { type HostedPlugin, HostedPlugins, type HostedTarget } from './hosted-plugins.ts';
import { type ImportCall, packReply, runImport } from './import-call.ts';
import {
  type InstallCall,
  runInstallData,
  runInstallFiles,
  runInstallMeta,
  runUninstall,
  runUninstallFiles,
} from './install-calls.ts';
import { ClearMark, datasetsFolder, InstallFolder, sweepClearMarks, sweepDatasets } from './install-folder.ts';
import type { InstalledModes } from './installed-tree.ts';
import { baseEnvironment, importEnvironment, importId, installEnvironment } from './script-environment.ts';
import { ScriptMetrics, Scripts } from './scripts.ts';
import { SmallArchives } from './small-archives.ts';
import { SpareEntries } from './spare-entries.ts';
import { UnpackedTrees } from './unpacked-trees.ts';
import { type Payload, sweepWorkspaces, Workspace } from './workspace.ts';

export interface PluginHostOptions {
  readonly plugins: readonly HostedPlugin[];
  /** Enabled ones only. */
  readonly targets: readonly HostedTarget[];
  readonly siteBuild: string;
  /** Scratch space of this host only. */
  readonly workDir: string;
  /** For emptied folders and files, beside `workDir` (spare-entries.ts). */
  readonly spareDir: string;
  /** Where the host records what it must know of datasets after a crash (install-folder.ts). */
  readonly marksDir: string;
  /** The environment of the process. Scripts get the few of its variables that the protocol lists. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Limits of the archives that calls bring. */
  readonly archiveLimits: ArchiveLimits;
  readonly gate: CallGateLimits;
  /** Who may read installed files. By default only their owner and group. */
  readonly installed?: InstalledModes;
}

export interface PluginHostParts {
  readonly runner: ScriptRunner;
  readonly archives: Archives;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly #parts: PluginHostParts;
  readonly #hosted: HostedPlugins;
  readonly #scripts: Scripts;
  readonly #gate: CallGate;
  readonly #spares: SpareEntries;
  readonly #small: SmallArchives;
  /** What need not be unpacked. */
  readonly trees: UnpackedTrees;

  constructor(options: PluginHostOptions, parts: PluginHostParts) {
    this.#options = options;
    this.#parts = parts;
    this.#hosted = new HostedPlugins(options.plugins, options.targets);
    this.#scripts = new Scripts(parts.runner, new ScriptMetrics(parts.metrics));
    this.#gate = new CallGate(options.gate, parts.clock);
    this.#spares = new SpareEntries(options.workDir, options.spareDir, parts.clock);
    this.#small = new SmallArchives(parts.archives);
    this.trees = new UnpackedTrees(options.workDir, parts.clock, parts.log);
  }

  /** Finishes or removes what a crashed process left. Call it before the first call. Fails when an install root is missing. */
  async prepare(): Promise<void> {
    await sweepWorkspaces(this.#options.workDir, this.#parts.log);
    await this.#spares.open();
    const names = this.#options.plugins.map(({ name }) => name);
    const folders = new Set<string>();
    for (const plugin of this.#options.plugins) {
      // We do not create it: a missing mount must not be replaced by a folder of the same name.
      if (!(await stat(plugin.installRoot).catch(() => undefined))?.isDirectory())
        throw new Failure('transient', `installRoot '${plugin.installRoot}' of plugin ${plugin.name} is not a folder`);
      for (const target of this.#options.targets) folders.add(datasetsFolder(plugin, target, this.#options.siteBuild));
    }
    for (const folder of folders) await sweepDatasets(folder, names, this.#parts.clock, this.#parts.log);
    await sweepClearMarks(this.#options.marksDir, this.#parts.clock);
  }

  get load(): { readonly calls: number; readonly scripts: number } {
    return { calls: this.#gate.calls, scripts: this.#gate.scripts };
  }

  /** Resolves when the scratch space is writable, so that calls can be served. */
  async probe(): Promise<void> {
    await access(this.#options.workDir, constants.W_OK);
  }

  /** Takes a place for a call; throws `Busy`. */
  admit(): Disposable {
    return this.#gate.admit();
  }

  /** @param log of the call; lines about its script get the ids of the call too */
  workspace(log: Logger = this.#parts.log): Promise<Workspace> {
    return Workspace.make(this.#spares, log);
  }

  async import(
    request: ImportRequest,
    workspace: Workspace,
    files: Pick<ImportCall, 'payload' | 'dataFile' | 'withDigests'>,
    signal: AbortSignal,
  ): Promise<Imported | CallOutcome> {
    const { jobId, meta, dataset } = request;
    const plugin = this.#hosted.plugin(meta.metadata.type);
    using _turn = await this.#gate.enter(`import ${dataset}`, signal);
    const env = {
      ...baseEnvironment(this.#options.environment, plugin.customPath),
      ...importEnvironment(dataset, importId(this.#parts.clock.now(), jobId)),
    };
    const limits = this.#options.archiveLimits;
    const { trees } = this;
    const call = { ...files, plugin, meta, workspace, trees, env, limits, log: logOf(workspace, request, plugin) };
    return await runImport(call, this.#scripts, this.#parts.archives, signal);
  }

  /** Packs an import's reply for a caller over HTTP. */
  packReply(
    imported: Imported,
    workspace: Workspace,
    signal: AbortSignal,
  ): Promise<{ readonly file: string; readonly bytes: number }> {
    return packReply(imported, workspace, this.#parts.archives, signal);
  }

  /**
   * Records that nothing is installed. Called before the payload of an install-data has arrived, which may take long: after a
   * crash, the dataset is uninstalled although its install never began.
   */
  async expectInstall({ target: id, dataset }: TargetRequest): Promise<void> {
    const target = this.#hosted.target(id);
    // Another call for the dataset is in progress, and sets or removes the mark itself.
    if (this.#gate.isTaken(turnOf(target, dataset))) return;
    await this.#clearMark(target, dataset).set();
  }

  async installData(
    request: InstallRequest,
    workspace: Workspace,
    payload: Payload,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const { meta } = request;
    const found = this.#hosted.installer(meta.metadata.type, request.target);
    // At once, because a crash may come during each of the waits that follow. Where files are installed, the mark is ignored.
    const mark = (): Promise<void> => this.#clearMark(found.target, request.dataset).set();
    using _turn = await this.#turn(request, found.target, signal, mark);
    const call = await this.#installCall(request, found, workspace, signal);
    const { trees } = this;
    const limits = this.#options.archiveLimits;
    const data = { ...call, meta, payload, trees, small: this.#small, limits };
    return await runInstallData(data, this.#scripts, this.#parts.archives, signal);
  }

  /** The workspace's properties folder has the data properties. */
  async installMeta(request: InstallRequest, workspace: Workspace, signal: AbortSignal): Promise<CallOutcome> {
    const { meta } = request;
    const found = this.#hosted.installer(meta.metadata.type, request.target);
    using _turn = await this.#turn(request, found.target, signal);
    const call = await this.#installCall(request, found, workspace, signal);
    return await runInstallMeta({ ...call, meta }, this.#scripts, signal);
  }

  async installFiles(request: InstallFilesRequest, workspace: Workspace, signal: AbortSignal): Promise<CallOutcome> {
    const { target, source, meta } = request;
    const found = this.#hosted.installer(meta.metadata.type, target);
    const from = this.#hosted.target(source);
    if (from.dataSchema !== found.target.dataSchema || from.id === found.target.id)
      throw rejected(`source-target '${source}' must be another target with the data schema of '${target}'`);
    using _turn = await this.#turn(request, found.target, signal);
    const call = await this.#installCall(request, found, workspace, signal);
    const files = this.#folder(request.dataset, { plugin: found.plugin, target: from }, call.log);
    return await runInstallFiles({ ...call, meta, source: files }, this.#scripts, signal);
  }

  async uninstallFiles(request: UninstallRequest, workspace: Workspace, signal: AbortSignal): Promise<CallOutcome> {
    const found = this.#uninstaller(request);
    using _turn = await this.#turn(request, found.target, signal);
    return await runUninstallFiles(await this.#installCall(request, found, workspace, signal));
  }

  async uninstall(request: UninstallRequest, workspace: Workspace, signal: AbortSignal): Promise<CallOutcome> {
    const found = this.#uninstaller(request);
    using _turn = await this.#turn(request, found.target, signal);
    return await runUninstall(await this.#installCall(request, found, workspace, signal), this.#scripts, signal);
  }

  /** The target may have stopped accepting the type. */
  #uninstaller({ type, target }: UninstallRequest): Found {
    return { plugin: this.#hosted.plugin(type), target: this.#hosted.target(target) };
  }

  #turn(ids: CallIds, target: HostedTarget, signal: AbortSignal, begin?: () => Promise<void>): Promise<Disposable> {
    return this.#gate.enter(turnOf(target, ids.dataset), signal, begin);
  }

  #clearMark(target: HostedTarget, dataset: DatasetId): ClearMark {
    return ClearMark.ofTarget(this.#options.marksDir, target.id, dataset, this.#spares);
  }

  async #installCall(
    ids: CallIds,
    { plugin, target }: Found,
    workspace: Workspace,
    signal: AbortSignal,
  ): Promise<InstallCall> {
    const db = await target.dataDb(signal);
    const base = baseEnvironment(this.#options.environment, plugin.customPath);
    const { marksDir } = this.#options;
    const isShared = this.#hosted.targets.some(
      ({ id, dataSchema }) => id !== target.id && dataSchema === target.dataSchema,
    );
    const log = logOf(workspace, ids, plugin, target);
    return {
      plugin,
      workspace,
      dataset: ids.dataset,
      folder: this.#folder(ids.dataset, { plugin, target }, log),
      clear: this.#clearMark(target, ids.dataset),
      noRows: isShared ? ClearMark.ofDataSchema(marksDir, target.dataSchema, ids.dataset, this.#spares) : undefined,
      env: (dataFiles) => ({ ...base, ...installEnvironment(ids.dataset, target.id, dataFiles, db) }),
      log,
    };
  }

  #folder(dataset: DatasetId, { plugin, target }: Found, log: Logger): InstallFolder {
    const parent = datasetsFolder(plugin, target, this.#options.siteBuild);
    return new InstallFolder(parent, dataset, this.#parts.clock, log, this.#options.installed);
  }
}

interface Found {
  readonly plugin: HostedPlugin;
  readonly target: HostedTarget;
}

/** Calls for targets that share a data schema run one after the other. */
const turnOf = (target: HostedTarget, dataset: DatasetId): string => `install ${target.dataSchema} ${dataset}`;

const logOf = (workspace: Workspace, ids: CallIds, plugin: HostedPlugin, target?: HostedTarget): Logger =>
  workspace.log.child({
    dataset: ids.dataset,
    event: ids.event,
    plugin: plugin.name,
    ...(target ? { target: target.id } : {}),
  });
