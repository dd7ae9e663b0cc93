// Runs scripts of a sample plugin as the plugin host would: folders in, lines and an exit code out, a real data DB.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import type { SampleDatabase } from '../../../config/samples/row-statements.ts';
import { runSample, type ScriptKind } from '../../../config/samples/run-sample.ts';
import type { SampleName } from '../../../config/samples/samples.ts';
import { Postgres } from '../../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { testDatabase } from '../../support/database.ts';

/** What somebody uploads: a relative path with `/`, and text in UTF-8 or any bytes. */
export interface UploadedFile {
  readonly name: string;
  readonly text: string | Uint8Array;
}

export interface SampleOutcome {
  readonly exit: number;
  readonly said: readonly string[];
}

export interface SampleRun {
  /** Imports the files and returns what was written, by relative path. */
  import(
    files: readonly UploadedFile[],
  ): Promise<SampleOutcome & { readonly output: Readonly<Record<string, string>> }>;
  /** Imports the files and is told what is wrong with them. */
  refuses(files: readonly UploadedFile[], said: readonly (string | RegExp)[]): Promise<void>;
  /** Any other kind, on the files of the last import. */
  run(kind: ScriptKind, args: readonly string[], stdin?: string): Promise<SampleOutcome>;
  /** Argument for the second parameter of install-data: the last import's output with its metadata. */
  readonly dataDir: string;
  readonly metaFile: string;
  readonly propertiesDir: string;
  installed(): Promise<Readonly<Record<string, string>>>;
}

/** One data DB for a whole test file. */
export async function sampleDatabase(t: Test): Promise<Postgres> {
  const db = new Postgres(
    { ...(await testDatabase(t)), schema: 'public', poolSize: 4, idleTimeoutMs: 1_000, applicationName: 'test' },
    silentLogger(),
  );
  t.teardown(() => db[Symbol.asyncDispose]());
  return db;
}

export async function sampleRun(
  t: Test,
  name: SampleName,
  db: Pick<SampleDatabase, 'query' | 'transaction'>,
  platform: SampleDatabase['platform'] = 'Postgres',
): Promise<SampleRun> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-sample-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const place = (part: string): string => join(dir, part);
  await mkdir(place('properties'));
  const meta = JSON.stringify({
    type: { name, version: '1.0' },
    installTargets: ['AlphaDB'],
    visibility: 'private',
    owner: 42,
    name: 'A dataset',
  });
  await writeFile(place('vdi-meta.json'), meta);

  const run: SampleRun['run'] = async (kind, args, stdin = '') => {
    const said: string[] = [];
    const exit = await runSample(name, kind, args, chunks(stdin), {
      dataFiles: place('site'),
      say: (line) => said.push(line),
      log: (line) => t.comment(line),
      database: async () => ({
        platform,
        query: (text, values) => db.query(text, values),
        transaction: (work, signal) => db.transaction(work, signal),
      }),
      signal: new AbortController().signal,
    });
    return { exit, said };
  };
  const sample: SampleRun = {
    dataDir: place('output'),
    metaFile: place('vdi-meta.json'),
    propertiesDir: place('properties'),
    run,
    async import(files) {
      for (const part of ['input', 'output']) {
        await rm(place(part), { recursive: true, force: true });
        await mkdir(place(part));
      }
      for (const file of [...files, { name: 'vdi-meta.json', text: meta }]) {
        const path = join(dir, 'input', file.name);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, file.text);
      }
      const outcome = await run('import', [place('input'), place('output')]);
      const output = await readTree(place('output'));
      await writeFile(join(dir, 'output', 'vdi-meta.json'), meta);
      return { ...outcome, output };
    },
    async refuses(files, expected) {
      const { exit, said } = await sample.import(files);
      t.match({ exit, said, many: said.length }, { exit: 99, said: expected, many: expected.length });
    },
    installed: () => readTree(place('site')),
  };
  return sample;
}

async function readTree(dir: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) tree[path.slice(dir.length + 1)] = await readFile(path, 'utf8');
  }
  return tree;
}

async function* chunks(text: string): AsyncGenerator<string> {
  yield text;
}
