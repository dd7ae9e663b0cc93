// The plugin host apart from HTTP: finds the plugin, waits for the dataset's turn, runs the scripts. The routes call it as
// http/plugin-host/routes.ts says.

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { HostReply } from '../../engine/ports/plugin-client.ts';
import type { ScriptRunner } from '../../engine/ports/script-runner.ts';
import { Failure, rejected } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { Archives } from '../tasks/archives.ts';
import { CallGate, type CallGateLimits } from './call-gate.ts';
import { type HostedPlugin, HostedPlugins, type HostedTarget } from './hosted-plugins.ts';
import { runImport } from './import-call.ts';
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
import { baseEnvironment, importEnvironment, importId, installEnvironment, ScriptMetrics, Scripts } from './scripts.ts';
import {
  type CallIds,
  checkManifestPart,
  parseImportDetails,
  parseInstallDetails,
  parseInstallFilesDetails,
  parseInstallMetaDetails,
  parseMetadataPart,
  parseUninstall,
} from './wire-documents.ts';
import { sweepWorkspaces, Workspace } from './workspace.ts';

export interface PluginHostOptions {
  readonly plugins: readonly HostedPlugin[];
  /** Enabled ones only. */
  readonly targets: readonly HostedTarget[];
  readonly siteBuild: string;
  /** Scratch space of this host alone. */
  readonly workDir: string;
  /** What it knows of datasets, to be found again after a kill (install-folder.ts). */
  readonly marksDir: string;
  /** The process's own environment; scripts get the few variables of it that the protocol names. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of the archives that are sent here. */
  readonly archiveLimits: ArchiveLimits;
  readonly gate: CallGateLimits;
  /** Who may read what is installed; nobody but owner and group by default. */
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

  constructor(options: PluginHostOptions, parts: PluginHostParts) {
    this.#options = options;
    this.#parts = parts;
    this.#hosted = new HostedPlugins(options.plugins, options.targets);
    this.#scripts = new Scripts(parts.runner, new ScriptMetrics(parts.metrics));
    this.#gate = new CallGate(options.gate, parts.clock);
  }

  /** Before the first call: what a kill left behind is finished or cleared. Fails when an install root is missing. */
  async prepare(): Promise<void> {
    await sweepWorkspaces(this.#options.workDir, this.#parts.log);
    const names = this.#options.plugins.map(({ name }) => name);
    const folders = new Set<string>();
    for (const plugin of this.#options.plugins) {
      // Made by nobody here: a mount that is missing must not be replaced by a folder of its name.
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

  /** Resolves when calls can be worked on: the scratch space is there to be written. */
  async probe(): Promise<void> {
    await access(this.#options.workDir, constants.W_OK);
  }

  admit(): Disposable {
    return this.#gate.admit();
  }

  workspace(log: Logger = this.#parts.log): Promise<Workspace> {
    return Workspace.make(this.#options.workDir, log);
  }

  async import(request: { details: string }, workspace: Workspace, signal: AbortSignal): Promise<HostReply> {
    const { jobId, meta, ...ids } = parseImportDetails(request.details);
    const plugin = this.#hosted.plugin(meta.metadata.type);
    using _turn = await this.#gate.enter(`import ${ids.dataset}`, signal);
    const env = {
      ...baseEnvironment(this.#options.environment, plugin.customPath),
      ...importEnvironment(ids.dataset, importId(this.#parts.clock.now(), jobId)),
    };
    const call = {
      plugin,
      meta,
      workspace,
      env,
      limits: this.#options.archiveLimits,
      log: logOf(workspace, ids, plugin),
    };
    return await runImport(call, this.#scripts, this.#parts.archives, signal);
  }

  async expectInstall(text: string): Promise<void> {
    const { target: id, dataset } = parseInstallDetails(text);
    const target = this.#hosted.target(id);
    // Another call for the dataset knows better.
    if (this.#gate.isTaken(turnOf(target, dataset))) return;
    await ClearMark.ofTarget(this.#options.marksDir, target.id, dataset).set();
  }

  async installData(
    request: { details: string; meta: string; manifest: string },
    workspace: Workspace,
    signal: AbortSignal,
  ): Promise<HostReply> {
    const { target, ...ids } = parseInstallDetails(request.details);
    const meta = parseMetadataPart(request.meta);
    checkManifestPart(request.manifest);
    const found = this.#hosted.installer(meta.metadata.type, target);
    using _turn = await this.#turn(ids, found.target, signal);
    const call = await this.#installCall(ids, found, workspace, signal);
    const limits = this.#options.archiveLimits;
    return await runInstallData({ ...call, meta, limits }, this.#scripts, this.#parts.archives, signal);
  }

  async installMeta(request: { details: string }, workspace: Workspace, signal: AbortSignal): Promise<HostReply> {
    const { target, meta, ...ids } = parseInstallMetaDetails(request.details);
    const found = this.#hosted.installer(meta.metadata.type, target);
    using _turn = await this.#turn(ids, found.target, signal);
    const call = await this.#installCall(ids, found, workspace, signal);
    return await runInstallMeta({ ...call, meta }, this.#scripts, signal);
  }

  async installFiles(request: { details: string }, workspace: Workspace, signal: AbortSignal): Promise<HostReply> {
    const { target, source, meta, ...ids } = parseInstallFilesDetails(request.details);
    const found = this.#hosted.installer(meta.metadata.type, target);
    const from = this.#hosted.target(source);
    if (from.dataSchema !== found.target.dataSchema || from.id === found.target.id)
      throw rejected(`source-target '${source}' must be another target with the data schema of '${target}'`);
    using _turn = await this.#turn(ids, found.target, signal);
    const call = await this.#installCall(ids, found, workspace, signal);
    const files = this.#folder(ids.dataset, { plugin: found.plugin, target: from }, call.log);
    return await runInstallFiles({ ...call, meta, source: files }, this.#scripts, signal);
  }

  async uninstallFiles(body: unknown, workspace: Workspace, signal: AbortSignal): Promise<HostReply> {
    const { target, type, ...ids } = parseUninstall(body);
    const found = { plugin: this.#hosted.plugin(type), target: this.#hosted.target(target) };
    using _turn = await this.#turn(ids, found.target, signal);
    return await runUninstallFiles(await this.#installCall(ids, found, workspace, signal));
  }

  async uninstall(body: unknown, workspace: Workspace, signal: AbortSignal): Promise<HostReply> {
    const { target, type, ...ids } = parseUninstall(body);
    const found = { plugin: this.#hosted.plugin(type), target: this.#hosted.target(target) };
    using _turn = await this.#turn(ids, found.target, signal);
    return await runUninstall(await this.#installCall(ids, found, workspace, signal), this.#scripts, signal);
  }

  #turn(ids: CallIds, target: HostedTarget, signal: AbortSignal): Promise<Disposable> {
    return this.#gate.enter(turnOf(target, ids.dataset), signal);
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
      clear: ClearMark.ofTarget(marksDir, target.id, ids.dataset),
      noRows: isShared ? ClearMark.ofDataSchema(marksDir, target.dataSchema, ids.dataset) : undefined,
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

/** Targets that share a data schema take turns. */
const turnOf = (target: HostedTarget, dataset: DatasetId): string => `install ${target.dataSchema} ${dataset}`;

const logOf = (workspace: Workspace, ids: CallIds, plugin: HostedPlugin, target?: HostedTarget): Logger =>
  workspace.log.child({
    dataset: ids.dataset,
    event: ids.event,
    plugin: plugin.name,
    ...(target ? { target: target.id } : {}),
  });
