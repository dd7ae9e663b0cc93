// A plugin host with scripts that write down all that they see, and the three ways in which lanes call it: over HTTP, in the same
// process with payloads of a store elsewhere, which are copied, and with those of a store on this machine, read in place.

import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import type { Test } from 'tap';
import { CallsInProgress } from '../../../actors/plugin-host/calls-in-progress.ts';
import type { HostedPlugin } from '../../../actors/plugin-host/hosted-plugins.ts';
import { withLocalPlugins } from '../../../actors/plugin-host/local-plugins.ts';
import { type LaneTasks, type ObjectFile, objectFile, type TaskRunner } from '../../../actors/tasks/task-map.ts';
import { openDirectoryReader } from '../../../engine/adapters/directory/directory-store-reader.ts';
import { PluginHttp } from '../../../engine/adapters/plugins/plugin-http.ts';
import { type DatasetId, targetId, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { newTraceparent } from '../../../engine/model/traceparent.ts';
import type { ObjectReader } from '../../../engine/ports/object-store.ts';
import { Failure, transient } from '../../../engine/runtime/failure.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { pluginMetadata } from '../../conformance/plugin-client.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { serveHost } from '../../http/plugin-host/host-server.ts';
import { hostedPlugin, readTree } from '../../http/plugin-host/host-setup.ts';
import { InProcessTasks } from '../../support/in-process-tasks.ts';

const never = new AbortController().signal;
export const ALPHA = targetId('AlphaDB');
export const BETA = targetId('BetaDB');
export const WAYS = ['HTTP', 'copied', 'in place'] as const;
type Way = (typeof WAYS)[number];
const SCRIPT_MS = 20_000;
/** Longer than any script of these tests but the one that is ended. */
const HASTY_MS = 400;

export const SCRIPTS = {
  dataCleaning: 'cp "$1"/a.txt "$2"/; echo "one line was odd"; echo "community:  für alle λ"; echo heard >&2',
  checkCompatibility: 'echo checked',
  dataInstall: 'mkdir "$DATA_FILES" && cp -R "$2"/. "$DATA_FILES"/; echo loaded',
  metaUpdate: 'ls "$3" >"$DATA_FILES/properties"; cat "$3"/* >>"$DATA_FILES/properties"',
  uninstall: 'echo "gone" >&2',
} as const;
export type ScriptName = keyof typeof SCRIPTS;

/** Writes down all that a script can see, then does what the dataset has for it, then the usual. */
const spying = (name: ScriptName): string => `#!/bin/sh
own="$PROJECT_HOME/${name}-$VDI_ID"
{
  echo "== ${name} $#"
  printf '%s\\n' "$@"
  env | grep -v -e '^PWD=' -e '^OLDPWD=' -e '^SHLVL=' -e '^_=' -e '^LONGSHORE_RUN=' | sort
  pwd
  find . -printf '%M %s %p\\n' | sort
  find . -name vdi-meta.json -exec cat {} +
  cat
} >>"$PROJECT_HOME/seen" 2>&1
[ -e "$own" ] && . "$own"
${SCRIPTS[name]}
`;

export interface World {
  readonly tasks: TaskRunner;
  readonly put: (key: string, content: Buffer, name: string) => Promise<ObjectFile>;
  /** As the store does with a file on its file system. Only in place. */
  readonly moveIn: (key: string, file: string, name: string) => Promise<ObjectFile>;
  readonly stored: (key: string) => Promise<Buffer>;
  readonly discard: (key: string) => Promise<void>;
  readonly objects: ObjectReader;
  readonly scratchDir: string;
  /** What a script does before the usual, for one dataset. */
  readonly script: (name: ScriptName, dataset: string, text: string) => Promise<void>;
  /** The lack of disk space that is found, one per look. */
  readonly lacks: (string | undefined)[];
  readonly store: { away: boolean };
  readonly host: Awaited<ReturnType<typeof serveHost>>['host'];
  readonly running: () => Promise<void>;
  /** Without names that are new in each world. */
  readonly plain: <Value>(value: Value) => Value;
  readonly seen: () => Promise<string>;
  readonly installed: () => Promise<unknown>;
  readonly lines: () => readonly Readonly<Record<string, unknown>>[];
  readonly counts: () => Promise<readonly string[]>;
  readonly scratch: () => Promise<readonly string[]>;
  /** Lets scripts go on that wait for it. */
  readonly go: () => Promise<void>;
  /** Names of the files that scripts have written beside their own. */
  readonly homeFiles: () => Promise<readonly string[]>;
}

export async function setup(t: Test, way: Way): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-local-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const home = join(dir, 'home');
  const scratchDir = join(dir, 'scratch');
  for (const folder of [home, scratchDir, join(dir, 'store', 'objects')]) await mkdir(folder, { recursive: true });
  const scripts = Object.fromEntries(
    (Object.keys(SCRIPTS) as ScriptName[]).map((name) => [
      name,
      { path: join(dir, `${name}.sh`), maxDurationMs: SCRIPT_MS },
    ]),
  ) as HostedPlugin['scripts'];
  for (const name of Object.keys(SCRIPTS) as ScriptName[])
    await writeFile(scripts[name].path, spying(name), { mode: 0o755 });
  const written: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void written.push(JSON.parse(line)) });
  const lacks: (string | undefined)[] = [];
  const room = { lack: async () => lacks.shift() };
  const { host, metrics, baseUrl, options } = await serveHost(t, {
    app: { log, room },
    routes: { room, token: 'host-secret' },
    host: (options) => ({
      ...options,
      environment: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', PROJECT_HOME: home, SECRET_OF_HOST: 'x' },
      gate: { maxScripts: 2, maxCalls: 2, maxWaitMs: 100 },
      targets: options.targets.map((target) => ({ ...target, dataSchema: 'shared' })),
      plugins: options.plugins.flatMap(({ installRoot }) => [
        hostedPlugin(installRoot, { scripts, staging: false }),
        hostedPlugin(installRoot, {
          ...{ scripts, staging: false, name: 'hasty' },
          dataTypes: hostedPlugin(installRoot).dataTypes.map((type) => ({ ...type, name: 'hasty' })),
        }),
      ]),
    }),
  });
  const fake = new FakeObjectStore();
  const reader: ObjectReader = way === 'in place' ? openDirectoryReader(join(dir, 'store')) : fake;
  const state = { away: false };
  const present = (): ObjectReader => {
    if (state.away) throw transient('the object store is away');
    return reader;
  };
  const store: ObjectReader = {
    get: async (...args) => present().get(...args),
    head: async (...args) => present().head(...args),
    list: (...args) => reader.list(...args),
    ...(reader.localFile ? { localFile: reader.localFile.bind(reader) } : {}),
  };
  const put = async (key: string, content: Buffer, name: string): Promise<ObjectFile> => {
    if (way === 'in place') {
      const file = join(dir, 'store', 'objects', key);
      await mkdir(dirname(file), { recursive: true });
      await rm(file, { force: true });
      await writeFile(file, content);
    } else await fake.put(key, content, {}, never);
    const info = await reader.head(key, never);
    if (!info) throw new Error('the object was not stored');
    return objectFile(info, name);
  };
  const moveIn = async (key: string, from: string, name: string): Promise<ObjectFile> => {
    await rename(from, join(dir, 'store', 'objects', key));
    const info = await reader.head(key, never);
    if (!info) throw new Error('the object was not stored');
    return objectFile(info, name);
  };
  const scriptMs = { import: SCRIPT_MS, installData: SCRIPT_MS, installMeta: SCRIPT_MS, uninstall: SCRIPT_MS };
  const hastyMs = { import: HASTY_MS, installData: HASTY_MS, installMeta: HASTY_MS, uninstall: HASTY_MS };
  const client = (key: string) =>
    new PluginHttp({
      ...{ key, baseUrl, token: 'host-secret' },
      ...(key === 'hasty' ? { scriptMs: hastyMs, times: { marginMs: 0 } } : { scriptMs }),
    });
  const clients = ['test', 'hasty'].map((key) => [key, client(key)] as const);
  t.teardown(() => Promise.all(clients.map(([, one]) => one[Symbol.asyncDispose]())));
  const overHttp = new InProcessTasks({ store, plugins: new Map(clients) });
  const tasks =
    way === 'HTTP'
      ? overHttp
      : withLocalPlugins(overHttp, {
          ...{ plugins: ['test', 'hasty'], host, store, room, calls: new CallsInProgress(), clock: systemClock, log },
          limitMs: (plugin) => (plugin === 'hasty' ? HASTY_MS : SCRIPT_MS + 60_000),
        });
  const { workDir } = options;
  const plainText = (text: string): string =>
    text
      .replaceAll(/\/work\/call-\w+/g, '/work/CALL')
      .replaceAll(scratchDir, 'SCRATCH')
      .replaceAll(dir, 'DIR')
      .replaceAll(dirname(workDir), 'HOST')
      .replaceAll(/VDI_IMPORT_ID=[0-9a-z]+/g, 'VDI_IMPORT_ID=ID');
  const plain = <Value>(value: Value): Value => JSON.parse(plainText(JSON.stringify(value)));
  return {
    ...{ tasks, put, moveIn, scratchDir, lacks, store: state, host, plain },
    ...{ objects: store, discard: (key) => rm(join(dir, 'store', 'objects', key)) },
    stored: (key) => readFile(join(dir, 'store', 'objects', key)),
    script: (name, dataset, text) => writeFile(join(home, `${name}-${dataset}`), text),
    running: async () => {
      while (host.load.scripts === 0) await nextTurn();
    },
    seen: async () => plainText(await readFile(join(home, 'seen'), 'utf8').catch(() => '')),
    installed: async () => {
      const [plugin] = options.plugins;
      const root = plugin?.installRoot ?? '';
      const tree = (await readTree(root)) ?? {};
      const modes = await Promise.all(
        Object.keys(tree).map(async (name) => ((await stat(join(root, name))).mode & 0o777).toString(8)),
      );
      return plain({ tree, modes });
    },
    lines: () =>
      written
        .filter(({ msg }) => /^(script |the uninstall script|plugin call)/.test(String(msg)))
        .map(({ pid: _pid, time: _time, hostname: _host, request: _request, durationMs: _took, actor: _a, ...line }) =>
          plain(line),
        ),
    counts: async () =>
      (await metrics.text()).split('\n').filter((line) => /^longshore_\w+_script_executions_total\{/.test(line)),
    scratch: () => readdir(workDir),
    go: () => writeFile(join(home, 'go'), ''),
    homeFiles: () => readdir(home),
  };
}

/** A failure as lanes act on it. */
const asSeenByLanes = (error: unknown) => {
  if (!(error instanceof Failure)) throw error;
  const { kind, unreachable, unanswered, maxAttempts } = error;
  return { kind, unreachable, unanswered, maxAttempts };
};

type Names = Exclude<keyof LaneTasks, 'fetch-upload' | 'pack-upload'>;
export async function run<Name extends Names>(
  { tasks, host }: World,
  name: Name,
  input: LaneTasks[Name]['input'],
  signal = never,
): Promise<unknown> {
  const { calls } = host.load;
  const answer = await tasks
    .run(name, input, { signal, alone: false, owner: '1' as UserId })
    .then((output) => ('dataFile' in output ? { ...output, dataFile: 'zip' } : output), asSeenByLanes);
  // Over HTTP, the caller has the answer before the host is done with the call.
  while (host.load.calls > calls) await nextTurn();
  return answer;
}

export const traceparent = newTraceparent();
const ids = (dataset: string, plugin = 'test') => ({
  ...{ plugin, eventId: 65_571, dataset: dataset as DatasetId, traceparent },
});
/** As stored: with fields that plugins do not get. */
export const metadataOf = (dataset: string, change: Partial<DatasetMetadata> = {}): DatasetMetadata => ({
  ...pluginMetadata(dataset),
  description: 'Größe\n"λ" \\ \ud83e\uddec <b>',
  firstPublished: '2024-02-03T04:05:06.000Z',
  ...change,
});
export const DEPENDENCIES = [1, 2].map((n) => ({
  ...{ resourceIdentifier: `Genome-${n}`, resourceDisplayName: 'A genome', resourceVersion: '51' },
}));

export const FILES = { 'a.txt': 'alpha\n', 'sub/b c.txt': 'beta\n', 'vdi-meta.json': 'of the user', '.DS_Store': 'x' };
export const imported = async (world: World, dataset: string, change: object = {}, content?: Buffer) => ({
  ...ids(dataset),
  metadata: metadataOf(dataset),
  payload: await world.put(`1/${dataset}/import-ready.zip`, content ?? (await zipOf(FILES)), 'import-ready.zip'),
  scratchDir: world.scratchDir,
  ...change,
});
export const installation = async (world: World, dataset: string, change: object = {}, content?: Buffer) => ({
  ...ids(dataset),
  target: ALPHA,
  metadata: metadataOf(dataset),
  manifest: '{"rawUploads":[],"installReady":[]}',
  payload: await world.put(`1/${dataset}/install-ready.zip`, content ?? (await zipOf(FILES)), 'install-ready.zip'),
  properties: [await world.put(`1/${dataset}/p`, Buffer.from('unused'), 'p.tsv')],
  ...change,
});
export const meta = async (world: World, dataset: string, change: object = {}) => ({
  ...ids(dataset),
  target: ALPHA,
  metadata: metadataOf(dataset),
  properties: [
    await world.put(`1/${dataset}/p1`, Buffer.from('x\ty\n'), 'props "1".tsv'),
    await world.put(`1/${dataset}/p2`, Buffer.alloc(0), 'Gro\u0308ße.tsv'),
  ],
  ...change,
});
export const removal = (dataset: string, change: object = {}) => ({
  ...ids(dataset),
  target: ALPHA,
  type: { name: 'testtype', version: '1.0' },
  ...change,
});
