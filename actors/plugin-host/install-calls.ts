// The calls that change one target: install-data, install-meta, uninstall (plugin wire protocol). Two more calls are ours, for
// targets that share a data schema: install-files and uninstall-files change only the files, while the rows of another target
// serve both.

import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { MetadataDocument } from '../../engine/model/plugin-requests.ts';
import type { CallOutcome } from '../../engine/ports/plugin-client.ts';
import { rejected } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Archives } from '../tasks/archives.ts';
import { DONE, invalid, missingDependency, scriptFailure, serverError, valid } from './call-outcomes.ts';
import type { HostedPlugin } from './hosted-plugins.ts';
import type { ClearMark, InstallFolder } from './install-folder.ts';
import type { ScriptEnvironment } from './script-environment.ts';
import { exitError, type Scripts } from './scripts.ts';
import type { SmallArchives } from './small-archives.ts';
import { type UnpackedTrees, unpackPayload } from './unpacked-trees.ts';
import { METADATA, type Payload, type Workspace } from './workspace.ts';

export interface InstallCall {
  readonly plugin: HostedPlugin;
  readonly dataset: DatasetId;
  readonly workspace: Workspace;
  readonly folder: InstallFolder;
  readonly clear: ClearMark;
  /** The mark of all targets that share the data schema. Undefined when no other target shares it. */
  readonly noRows: ClearMark | undefined;
  /** The environment of a script whose files are at this path. */
  readonly env: (dataFiles: string) => ScriptEnvironment;
  readonly log: Logger;
}

/** The mark is set: the caller has uninstalled anything that may have been here (actors/lanes/install-data.ts). */
export async function runInstallData(
  call: InstallCall & {
    readonly meta: MetadataDocument;
    readonly payload: Payload;
    readonly trees: UnpackedTrees;
    readonly small: SmallArchives;
    readonly limits: ArchiveLimits;
  },
  scripts: Scripts,
  archives: Archives,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const { workspace, folder, plugin } = call;
  if (!plugin.staging && (await folder.installed()))
    return serverError(`${folder.final} is there already; uninstall dataset ${call.dataset} first`);
  const dataDir = await workspace.folder('install');
  await using unpacked = await unpackPayload({ ...call, dir: dataDir }, archives, signal);
  if (unpacked.files.some((file) => file.name.startsWith(`${METADATA}/`)))
    throw rejected(`the payload has a folder named ${METADATA}, where the metadata go`);
  await workspace.metadata(dataDir, call.meta.text);
  if (!plugin.staging) {
    await folder.makeParent();
    const outcome = await runInstallScript(call, { dataDir, dataFiles: folder.final }, scripts, signal);
    if (outcome.kind === 'valid') await folder.settle();
    return outcome;
  }
  await folder.prepare(plugin.name);
  try {
    const outcome = await runInstallScript(call, { dataDir, dataFiles: folder.staging }, scripts, signal);
    if (outcome.kind === 'valid') await folder.commit();
    return outcome;
  } finally {
    await folder.discard();
  }
}

async function runInstallScript(
  call: InstallCall & { readonly meta: MetadataDocument },
  { dataDir, dataFiles }: { readonly dataDir: string; readonly dataFiles: string },
  scripts: Scripts,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const { clear } = call;
  const env = call.env(dataFiles);
  const failure = await incompatibility(call, env, scripts, signal);
  if (failure) return failure;
  const args = [call.dataset, dataDir];
  await call.noRows?.remove();
  await clear.remove();
  const outcome = await scripts.run({ kind: 'install_data', ...call, env, args }, signal);
  if (outcome.kind === 'refused') return invalid(outcome.lines);
  if (outcome.kind === 'failed' && !outcome.started) await clear.set();
  return outcome.kind === 'ok' ? valid(outcome.lines) : scriptFailure(outcome);
}

export async function runInstallMeta(
  call: InstallCall & { readonly meta: MetadataDocument },
  scripts: Scripts,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const { workspace } = call;
  const metaFile = await workspace.metadata(workspace.dir, call.meta.text);
  const args = [call.dataset, metaFile, await workspace.properties()];
  const env = call.env(call.folder.final);
  const outcome = await scripts.run({ kind: 'install_meta', ...call, env, args }, signal);
  await call.folder.settle();
  if (outcome.kind === 'refused') return invalid(outcome.lines);
  return outcome.kind === 'ok' ? DONE : scriptFailure(outcome);
}

/** Copies the dataset's files from another target of the same data schema. The only script checks the dependencies. */
export async function runInstallFiles(
  call: InstallCall & { readonly meta: MetadataDocument; readonly source: InstallFolder },
  scripts: Scripts,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const { folder, clear } = call;
  // As before install-data.
  await clear.set();
  await folder.prepare(call.plugin.name);
  try {
    const failure = await incompatibility(call, call.env(folder.final), scripts, signal);
    if (failure) return failure;
    await folder.copyFrom(call.source, signal);
    // The rows are now those of this target too. It may be the last one, whose uninstall removes them.
    await clear.remove();
    return valid([]);
  } finally {
    await folder.discard();
  }
}

/** The rows stay, because another target has the dataset. */
export async function runUninstallFiles({ folder, clear }: InstallCall): Promise<CallOutcome> {
  await clear.set();
  await folder.remove();
  await folder.discard();
  return DONE;
}

/** A dataset that is not installed counts as uninstalled, even if the script fails because nothing is there. */
export async function runUninstall(call: InstallCall, scripts: Scripts, signal: AbortSignal): Promise<CallOutcome> {
  const { folder, plugin, clear } = call;
  const env = call.env(folder.final);
  const args = [call.dataset];
  const outcome = await scripts.run({ kind: 'uninstall', ...call, env, args }, signal);
  if (outcome.kind !== 'ok' && outcome.kind !== 'failed' && (await isClear(call))) {
    call.log.info('the uninstall script failed where nothing is installed');
    await folder.remove();
    await folder.discard();
    return DONE;
  }
  // An uninstall has no data that its script could refuse.
  if (outcome.kind === 'refused') return scriptFailure(exitError(plugin.scripts.uninstall, 99));
  if (outcome.kind !== 'ok') return scriptFailure(outcome);
  // Before the folder is removed: without it, the script may fail when the uninstall is repeated.
  await call.noRows?.set();
  await clear.set();
  await folder.remove();
  await folder.discard();
  return DONE;
}

/** Nothing was installed here, or the uninstall of another target removed the rows and no install has begun since. */
async function isClear({ clear, noRows, folder }: InstallCall): Promise<boolean> {
  if ((await clear.isSet()) && !(await folder.installed())) return true;
  return (await noRows?.isSet()) === true;
}

/** The outcome when the dataset's dependencies do not fit the target. A dataset without dependencies fits everywhere. */
async function incompatibility(
  call: InstallCall & { readonly meta: MetadataDocument },
  env: ScriptEnvironment,
  scripts: Scripts,
  signal: AbortSignal,
): Promise<CallOutcome | undefined> {
  const { dependencies } = call.meta.metadata;
  if (dependencies.length === 0) return undefined;
  const stdin = dependencies.map((one) => `${one.resourceIdentifier}\t${one.resourceVersion}\n`);
  const check = { kind: 'check_compat', ...call, env, args: [], stdin } as const;
  const outcome = await scripts.run(check, signal);
  if (outcome.kind === 'refused') return missingDependency(outcome.lines);
  return outcome.kind === 'ok' ? undefined : scriptFailure(outcome);
}
