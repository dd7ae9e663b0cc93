// `longshore up` with a plugin for gene lists, and the same scripts run without it: the sample plugin as it comes, or short
// scripts of /bin/sh in its place.

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { Client, Response } from 'undici';
import { parse, stringify } from 'yaml';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { detailsOf, formOf } from '../support/api.ts';
import { freePortBase, tempDir, type Up, up } from '../support/longshore.ts';
import { databaseOf, schemaClient } from './many-datasets.ts';

export const TARGETS = ['AlphaDB', 'BetaDB'] as const;
const USER = '4242';
const GENES = 'PF3D7_0100100\nPF3D7_0100200\nPF3D7_0100300\n';
const FILE = 'genes.txt';
const OUTPUT = 'formatted_gene_list.txt';
/** As many as one user may send at once. */
const CONNECTIONS = 4;
const LOOK_MS = 5;
const PATIENCE_MS = 120_000;

/** Each checks what it was given; those that install leave a file for the site. */
const SHELL_SCRIPTS = {
  dataCleaning: `read gene <"$1/${FILE}" && echo "$gene" >"$2/${OUTPUT}"`,
  dataInstall: `read gene <"$2/${OUTPUT}" && mkdir "$DATA_FILES" && echo "$gene" >"$DATA_FILES/${OUTPUT}"`,
  metaUpdate: '[ -s "$2" ]',
} as const;
type ScriptKey = keyof typeof SHELL_SCRIPTS;

interface Target {
  readonly targetId: string;
  readonly dataDb: {
    readonly name: string;
    readonly username: string;
    readonly password: string;
    readonly schema: string;
  };
}
interface Config {
  installer: {
    plugins: Record<string, { scripts: Record<string, { pathOverride: string }> }>;
    installTargets: readonly Target[];
  };
}

export interface ScriptSite extends AsyncDisposable {
  readonly app: Up;
  readonly sql: pg.Client;
  /** Uploads so many datasets at once; when all have been accepted, their ids. */
  upload(count: number): Promise<readonly string[]>;
  /** Waits until all of them are installed on both targets, whatever else has to be done for them later. */
  installed(datasets: readonly string[]): Promise<void>;
  /** Waits until no job is left. */
  idle(): Promise<void>;
  /** Milliseconds of the scripts of so many datasets, started by two shells, each one script at a time. */
  loop(datasets: number): Promise<number>;
  /** Milliseconds of the scripts of one dataset, in their order: import, both installs at once, both metadata at once. */
  inOrder(): Promise<number>;
}

export async function scriptSite(scripts: 'sample' | 'shell'): Promise<ScriptSite> {
  const cleanup: (() => unknown)[] = [];
  const t = { teardown: (fn: () => unknown): void => void cleanup.unshift(fn) };
  const dir = await tempDir(t);
  const ports = ['--port-base', String(await freePortBase())];
  if (scripts === 'shell') {
    await (await up(t, dir, ports)).stop();
    await replaceScripts(dir);
  }
  const app = await up(t, dir, ports);
  const sql = await schemaClient(dir, CACHE_SCHEMA);
  const headers = { authorization: `Bearer ${await app.token(USER)}` };
  const request = new Response(formOf(detailsOf('genelist'), [{ name: FILE, content: GENES }]));
  const type = request.headers.get('content-type') ?? '';
  const body = Buffer.from(await request.arrayBuffer());
  const clients = Array.from({ length: CONNECTIONS }, () => new Client(app.endpoints.installer));
  const bare = await bareScripts(dir);
  const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
    for (const late = systemClock.now() + PATIENCE_MS; !(await isSo()); await systemClock.sleep(LOOK_MS))
      if (systemClock.now() > late) throw new Error(`${what}: not after ${PATIENCE_MS} ms`);
  };
  return {
    ...{ app, sql },
    async upload(count) {
      const ids: string[] = [];
      let left = count;
      const worker = async (client: Client): Promise<void> => {
        while (left-- > 0) {
          const { statusCode, body: answer } = await client.request({
            ...{ method: 'POST', path: '/datasets', body },
            headers: { ...headers, 'content-type': type },
          });
          if (statusCode !== 202) throw new Error(`POST /datasets: ${statusCode} ${await answer.text()}`);
          ids.push(((await answer.json()) as { datasetId: string }).datasetId);
        }
      };
      await Promise.all(clients.slice(0, count).map(worker));
      return ids;
    },
    installed: (datasets) =>
      until('installed', async () => {
        const { rows } = await sql.query<{ status: string; count: number }>({
          name: 'installed',
          text: `select status, count(*)::integer as count from install_status
            where dataset_id = any ($1::text[]) group by status`,
          values: [datasets],
        });
        const failed = rows.find(({ status }) => !['queued', 'running', 'complete'].includes(status));
        if (failed) throw new Error(`${failed.count} installs are ${failed.status}`);
        const complete = rows.find(({ status }) => status === 'complete')?.count ?? 0;
        return complete === datasets.length * TARGETS.length * 2;
      }),
    idle: () =>
      until('idle', async () => (await sql.query({ name: 'idle', text: 'select from job limit 1' })).rows.length === 0),
    loop: (datasets) => bare.loop(datasets),
    inOrder: () => bare.inOrder(),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await sql.end();
      for (const fn of cleanup) await fn();
    },
  };
}

async function replaceScripts(dir: string): Promise<void> {
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  const plugin = config.installer.plugins.genelist;
  if (!plugin) throw new Error('no plugin genelist');
  for (const [key, text] of Object.entries(SHELL_SCRIPTS)) {
    const path = join(dir, `${key}.sh`);
    await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    plugin.scripts[key] = { pathOverride: path };
  }
  await writeFile(file, stringify(config));
}

/** The scripts that the configuration names, with folders of their own, so that each run does what one of ours does. */
async function bareScripts(dir: string): Promise<Pick<ScriptSite, 'loop' | 'inOrder'>> {
  const config = parse(await readFile(join(dir, 'config.yaml'), 'utf8')) as Config;
  const scripts = config.installer.plugins.genelist?.scripts ?? {};
  const path = (key: ScriptKey): string => decodeURI(scripts[key]?.pathOverride ?? '');
  const { host, port } = await databaseOf(dir);
  const base = { PATH: process.env.PATH, LANG: process.env.LANG, DB_HOST: host, DB_PORT: String(port) };
  const envs = TARGETS.map((target) => {
    const db = config.installer.installTargets.find(({ targetId }) => targetId === target)?.dataDb;
    if (!db) throw new Error(`no data DB of ${target}`);
    return {
      ...{ ...base, PROJECT_ID: target, DB_NAME: db.name, DB_USER: db.username, DB_PASS: db.password },
      ...{ DB_SCHEMA: db.schema, DB_PLATFORM: 'Postgres' },
    };
  });
  let runs = 0;
  /** A dataset's folders: what is imported, what comes of it, and its metadata. */
  const dataset = async () => {
    const id = `bare${++runs}`;
    const root = join(dir, 'bare', id);
    const [input, output, meta] = [join(root, 'input'), join(root, 'output'), join(root, 'vdi-meta.json')];
    await mkdir(input, { recursive: true });
    await mkdir(output);
    await mkdir(join(root, 'properties'));
    await writeFile(join(input, FILE), GENES);
    await writeFile(meta, JSON.stringify({ ...detailsOf('genelist'), created: new Date(0), owner: Number(USER) }));
    const filesOf = (target: string): string => join(root, target);
    return { id, root, input, output, meta, properties: join(root, 'properties'), filesOf };
  };
  const run = promisify(execFile);
  return {
    async inOrder() {
      const { id, root, input, output, meta, properties, filesOf } = await dataset();
      const begun = performance.now();
      await run(path('dataCleaning'), [input, output], { cwd: root, env: { ...base, VDI_ID: id } });
      const onEach = (key: ScriptKey, args: readonly string[]): Promise<unknown> =>
        Promise.all(
          envs.map((env) =>
            run(path(key), [id, ...args], {
              cwd: root,
              env: { ...env, VDI_ID: id, DATA_FILES: filesOf(env.PROJECT_ID) },
            }),
          ),
        );
      await onEach('dataInstall', [output]);
      await onEach('metaUpdate', [meta, properties]);
      return performance.now() - begun;
    },
    async loop(datasets) {
      const all = await Promise.all(Array.from({ length: datasets }, dataset));
      const list = join(dir, 'bare', 'list');
      const loop = join(dir, 'bare', 'loop.sh');
      await writeFile(
        loop,
        `set -e
while read id root; do
  cd "$root"
  VDI_ID=$id ${path('dataCleaning')} input output
  for target in ${TARGETS.join(' ')}; do
    VDI_ID=$id PROJECT_ID=$target DATA_FILES=$root/$target ${path('dataInstall')} $id output
    VDI_ID=$id PROJECT_ID=$target DATA_FILES=$root/$target ${path('metaUpdate')} $id vdi-meta.json properties
  done
done <"$1"\n`,
      );
      for (const half of [0, 1]) {
        const mine = all.filter((_, n) => n % 2 === half).map(({ id, root }) => `${id} ${root}\n`);
        await writeFile(`${list}${half}`, mine.join(''));
      }
      const begun = performance.now();
      await Promise.all([0, 1].map((half) => run('/bin/sh', [loop, `${list}${half}`])));
      const took = performance.now() - begun;
      await Promise.all(all.flatMap(({ filesOf }) => TARGETS.map((target) => readFile(join(filesOf(target), OUTPUT)))));
      return took;
    },
  };
}
