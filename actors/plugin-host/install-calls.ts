// Installing into one target and taking away again: install-data, install-meta, uninstall (plugin wire protocol). For
// targets that share a data schema also files alone, while the rows of another target serve both: install-files and
// uninstall-files, which are ours.

import { rm, writeFile } from 'node:fs/promises';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { HostReply } from '../../engine/ports/plugin-client.ts';
import { rejected } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Archives } from '../tasks/archives.ts';
import type { HostedPlugin } from './hosted-plugins.ts';
import type { ClearMark, InstallFolder } from './install-folder.ts';
import { exitError, type ScriptEnvironment, type Scripts } from './scripts.ts';
import {
  done,
  invalid,
  type MetadataDocument,
  missingDependency,
  scriptFailure,
  serverError,
  valid,
} from './wire-documents.ts';
import type { Workspace } from './workspace.ts';

const METADATA = 'vdi-meta.json';

export interface InstallCall {
  readonly plugin: HostedPlugin;
  readonly dataset: DatasetId;
  readonly workspace: Workspace;
  readonly folder: InstallFolder;
  readonly clear: ClearMark;
  /** Of all targets that share the data schema; undefined when there is only this one. */
  readonly noRows: ClearMark | undefined;
  /** The environment for files at this path. */
  readonly env: (dataFiles: string) => ScriptEnvironment;
  readonly log: Logger;
}

/** The workspace holds `install-ready.zip`. */
export async function runInstallData(
  call: InstallCall & { readonly meta: MetadataDocument; readonly limits: ArchiveLimits },
  scripts: Scripts,
  archives: Archives,
  signal: AbortSignal,
): Promise<HostReply> {
  const { workspace, folder, plugin, clear } = call;
  if (!plugin.staging && (await folder.installed()))
    return serverError(`${folder.final} is there already; uninstall dataset ${call.dataset} first`);
  // Whoever asks has uninstalled before what may have been there (actors/lanes/install-lane.ts). Not heeded where there are
  // files, so it may have been set as soon as the call came in (`expectInstall`).
  await clear.set();
  const zip = workspace.path('install-ready.zip');
  const dataDir = await workspace.folder('install');
  const { files } = await archives.unpack({ file: zip, kind: 'zip', dir: dataDir, limits: call.limits }, signal);
  if (files.some((file) => file.name.startsWith(`${METADATA}/`)))
    throw rejected(`the payload has a folder named ${METADATA}, where the metadata go`);
  await rm(zip);
  await writeFile(workspace.path('install', METADATA), call.meta.text);
  await folder.prepare(plugin.name);
  try {
    const env = call.env(plugin.staging ? folder.staging : folder.final);
    const failure = await incompatibility(call, env, scripts, signal);
    if (failure) return failure;
    const args = [call.dataset, dataDir];
    await call.noRows?.remove();
    await clear.remove();
    const outcome = await scripts.run({ kind: 'install_data', ...call, env, args, cwd: workspace.dir }, signal);
    if (outcome.kind === 'refused') return invalid(outcome.lines);
    if (outcome.kind === 'failed' && !outcome.started) await clear.set();
    if (outcome.kind !== 'ok') return scriptFailure(outcome);
    if (plugin.staging) await folder.commit();
    else await folder.settle();
    return valid(outcome.lines);
  } finally {
    await folder.discard();
  }
}

export async function runInstallMeta(
  call: InstallCall & { readonly meta: MetadataDocument },
  scripts: Scripts,
  signal: AbortSignal,
): Promise<HostReply> {
  const { workspace } = call;
  const metaFile = workspace.path(METADATA);
  await writeFile(metaFile, call.meta.text);
  const args = [call.dataset, metaFile, workspace.propertiesDir];
  const env = call.env(call.folder.final);
  const outcome = await scripts.run({ kind: 'install_meta', ...call, env, args, cwd: workspace.dir }, signal);
  await call.folder.settle();
  if (outcome.kind === 'refused') return invalid(outcome.lines);
  return outcome.kind === 'ok' ? done : scriptFailure(outcome);
}

/** The files of the dataset on another target of the same data schema; only the dependencies are looked at by a script. */
export async function runInstallFiles(
  call: InstallCall & { readonly meta: MetadataDocument; readonly source: InstallFolder },
  scripts: Scripts,
  signal: AbortSignal,
): Promise<HostReply> {
  const { folder, clear } = call;
  // As in install-data: not heeded where there are files.
  await clear.set();
  await folder.prepare(call.plugin.name);
  try {
    const failure = await incompatibility(call, call.env(folder.final), scripts, signal);
    if (failure) return failure;
    await folder.copyFrom(call.source, signal);
    // The rows are this target's, too: it may be the last one, whose uninstall takes them away.
    await clear.remove();
    return valid([]);
  } finally {
    await folder.discard();
  }
}

/** The rows stay, for another target has the dataset. */
export async function runUninstallFiles({ folder, clear }: InstallCall): Promise<HostReply> {
  await clear.set();
  await folder.remove();
  await folder.discard();
  return done;
}

/** What is not installed is uninstalled already, also when the script fails for want of it. */
export async function runUninstall(call: InstallCall, scripts: Scripts, signal: AbortSignal): Promise<HostReply> {
  const { workspace, folder, plugin, clear } = call;
  const env = call.env(folder.final);
  const args = [call.dataset];
  const outcome = await scripts.run({ kind: 'uninstall', ...call, env, args, cwd: workspace.dir }, signal);
  if (outcome.kind !== 'ok' && outcome.kind !== 'failed' && (await isClear(call))) {
    call.log.info('the uninstall script failed where nothing is installed');
    await folder.remove();
    await folder.discard();
    return done;
  }
  // To take away there is no data that could be refused.
  if (outcome.kind === 'refused') return scriptFailure(exitError(plugin.scripts.uninstall, 99));
  if (outcome.kind !== 'ok') return scriptFailure(outcome);
  // First: with its folder gone, the script may fail when it is asked again.
  await call.noRows?.set();
  await clear.set();
  await folder.remove();
  await folder.discard();
  return done;
}

/** Nothing was installed here, or the uninstall of another target took the rows away and nobody has begun to write new ones. */
async function isClear({ clear, noRows, folder }: InstallCall): Promise<boolean> {
  if ((await clear.isSet()) && !(await folder.installed())) return true;
  return (await noRows?.isSet()) === true;
}

/** The answer when the dataset's dependencies do not fit the target; a dataset without any fits everywhere. */
async function incompatibility(
  call: InstallCall & { readonly meta: MetadataDocument },
  env: ScriptEnvironment,
  scripts: Scripts,
  signal: AbortSignal,
): Promise<HostReply | undefined> {
  const { dependencies } = call.meta.metadata;
  if (dependencies.length === 0) return undefined;
  const stdin = dependencies.map((one) => `${one.resourceIdentifier}\t${one.resourceVersion}\n`);
  const check = { kind: 'check_compat', ...call, env, args: [], stdin, cwd: call.workspace.dir } as const;
  const outcome = await scripts.run(check, signal);
  if (outcome.kind === 'refused') return missingDependency(outcome.lines);
  return outcome.kind === 'ok' ? undefined : scriptFailure(outcome);
}
