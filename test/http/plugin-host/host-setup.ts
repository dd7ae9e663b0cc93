// A plugin host with real scripts in folders of its own.

import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { HostedPlugin, HostedTarget } from '../../../actors/plugin-host/hosted-plugins.ts';
import { PluginHost, type PluginHostOptions, type PluginHostParts } from '../../../actors/plugin-host/plugin-host.ts';
import type { Payload, Workspace } from '../../../actors/plugin-host/workspace.ts';
import { archivesHere } from '../../../actors/tasks/archives.ts';
import { ChildProcessRunner } from '../../../engine/adapters/scripts/child-process.ts';
import { MAX_ENTRIES } from '../../../engine/archive/archive-limits.ts';
import { writeZip } from '../../../engine/archive/zip-writer.ts';
import { targetId } from '../../../engine/model/ids.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { pluginMetadata } from '../../conformance/plugin-client.ts';

const SCRIPTS = join(import.meta.dirname, '..', '..', 'fixtures', 'scripts', 'plugin');
const LIMITS = { maxTotalBytes: 2 ** 30, maxFileBytes: 2 ** 30, maxEntries: MAX_ENTRIES };

export const TYPE = { name: 'testtype', version: '1.0' };

export interface HostSetup {
  readonly options: PluginHostOptions;
  readonly host: PluginHost;
  readonly metrics: Metrics;
  /** For another host in the place of this one. */
  readonly parts: PluginHostParts;
  /** `{installRoot}/build-1/AlphaDB`. */
  readonly site: string;
  readonly workDir: string;
}

export function hostedPlugin(installRoot: string, changes: Partial<HostedPlugin> = {}): HostedPlugin {
  const script = (name: string, maxDurationMs = 20_000) => ({ path: join(SCRIPTS, `${name}.sh`), maxDurationMs });
  return {
    name: 'test',
    dataTypes: [
      {
        ...TYPE,
        category: 'Test',
        plugin: 'test',
        typeChangesEnabled: false,
        maxFileSize: 2 ** 30,
        allowedFileExtensions: [],
        usesDataProperties: true,
        projectIds: [],
      },
    ],
    customPath: '/opt/tools',
    installRoot,
    staging: true,
    scripts: {
      dataCleaning: script('import'),
      checkCompatibility: script('check-compatibility'),
      dataInstall: script('install-data'),
      metaUpdate: script('install-meta'),
      uninstall: script('uninstall'),
    },
    ...changes,
  };
}

export function hostedTarget(id: string, changes: Partial<HostedTarget> = {}): HostedTarget {
  return {
    id: targetId(id),
    dataTypes: 'any',
    dataSchema: id,
    dataDb: async () => ({
      host: 'db.example',
      port: 5432,
      name: 'sites',
      user: 'loader',
      password: 'planted-secret',
      schema: 'loader_data',
      platform: 'Postgres',
    }),
    ...changes,
  };
}

/** `change` sees the options before the host is made. */
export async function setupHost(
  t: Test,
  change: (options: PluginHostOptions) => PluginHostOptions = (options) => options,
): Promise<HostSetup> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-host-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const installRoot = join(dir, 'sites');
  const workDir = join(dir, 'work');
  await mkdir(installRoot);
  const options = change({
    plugins: [hostedPlugin(installRoot)],
    targets: [hostedTarget('AlphaDB'), hostedTarget('BetaDB')],
    siteBuild: 'build-1',
    workDir,
    spareDir: join(dir, 'spare'),
    marksDir: join(dir, 'clear'),
    environment: { PATH: '/usr/bin:/bin', SECRET_OF_HOST: 'x', LANG: 'C.UTF-8' },
    archiveLimits: LIMITS,
    gate: { maxScripts: 4, maxCalls: 8, maxWaitMs: 10_000 },
  });
  const metrics = new Metrics();
  const runner = new ChildProcessRunner(
    { stateDir: join(dir, 'state'), graceMs: 100, drainMs: 100 },
    systemClock,
    silentLogger(),
  );
  t.teardown(() => runner[Symbol.asyncDispose]());
  const parts = { runner, archives: archivesHere, metrics, clock: systemClock, log: silentLogger() };
  const host = new PluginHost(options, parts);
  await host.prepare();
  return { options, host, parts, metrics, site: join(installRoot, 'build-1', 'AlphaDB'), workDir };
}

export const details = (dataset: string, more: object = {}): string =>
  stringifyJson({ 'event-id': 5, 'vdi-id': dataset, ...more });

export const metadataJson = (name: string, withDependency = false): object => ({
  ...pluginMetadata(name, withDependency),
});

/** Puts a zip of the files into the folder. */
export async function putZip(file: string, files: Readonly<Record<string, string>>): Promise<void> {
  const sources = Object.entries(files).map(([path, text]) => {
    const body = Buffer.from(text);
    return { path, size: body.length, body };
  });
  await writeZip(`${file}.tmp`, sources, { level: 1 }, new AbortController().signal);
  await copyFile(`${file}.tmp`, file);
  await rm(`${file}.tmp`);
}

/** A call's payload, in its workspace. */
export async function zipIn(workspace: Workspace, files: Readonly<Record<string, string>>): Promise<Payload> {
  const file = workspace.path('payload.zip');
  await putZip(file, files);
  return { file, release: () => rm(file) };
}

/** Texts of all files below a folder, by relative path; undefined when there is no such folder. */
export async function readTree(dir: string): Promise<Record<string, string> | undefined> {
  const tree: Record<string, string> = {};
  try {
    for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) tree[path.slice(dir.length + 1)] = await readFile(path, 'utf8');
    }
    return tree;
  } catch {
    return undefined;
  }
}

export async function putFile(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
}
