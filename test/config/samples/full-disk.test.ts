// A full disk, of the folders or of the database, is no fault of the data nor of the script: it ends with 75.

import { execFile, execFileSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { runSample, SCRIPT_EXIT } from '../../../config/samples/run-sample.ts';
import { SAMPLE_NAMES, type SampleName } from '../../../config/samples/samples.ts';
import { transient } from '../../../engine/runtime/failure.ts';

const ENTRY = join(import.meta.dirname, '..', '..', '..', 'bin', 'longshore.ts');
const LINES = 20_000;
const lines = (line: (i: number) => string): string => Array.from({ length: LINES }, (_, i) => line(i)).join('\n');
const biom = (): string => {
  const ids = (prefix: string) => JSON.stringify(Array.from({ length: LINES }, (_, i) => ({ id: `${prefix}${i}` })));
  const data = JSON.stringify(Array.from({ length: LINES }, (_, i) => [i, i, 1.5]));
  return (
    '{"format": "Biological Observation Matrix 1.0.0", "matrix_type": "sparse", "matrix_element_type": "float", ' +
    `"shape": [${LINES}, ${LINES}], "data": ${data}, "rows": ${ids('R')}, "columns": ${ids('C')}}`
  );
};
const META = JSON.stringify({
  type: { name: 'genelist', version: '1.0' },
  installTargets: ['AlphaDB'],
  visibility: 'private',
  owner: 42,
  name: 'A dataset',
});
/** More than the disk holds. */
const INPUTS: Readonly<Record<SampleName, Readonly<Record<string, string>>>> = {
  genelist: { 'genes.txt': lines((i) => `PF3D7_${i}`) },
  isasimple: { 'study.csv': `a,b\n${lines((i) => `x${i},some text`)}\n` },
  biom: { 'a.biom': biom() },
  rnaseq: { 'manifest.txt': 'S\ta.txt\tsense\n', 'a.txt': `gene_id\tTPM\n${lines((i) => `G${i}\t1.5`)}\n` },
  lightweight: { 'any.bin': 'x'.repeat(1_000_000) },
};

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** In a name space of its own, where `folder` is a disk of 64 KiB. */
const ON_SMALL_DISK = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"';
const isolated = (folder: string, command: readonly string[]): readonly string[] => [
  ...['--user', '--map-root-user', '--mount', 'sh', '-c', ON_SMALL_DISK, folder, ...command],
];

function onSmallDisk(folder: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const command = isolated(folder, [process.execPath, ENTRY, 'sample-script', ...args]);
  return new Promise((resolve) => {
    execFile('unshare', command, { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

function whyNoSmallDisk(): string | false {
  try {
    execFileSync('unshare', isolated('/mnt', ['true']), { stdio: 'pipe' });
    return false;
  } catch (error) {
    return `this system gives nobody a name space with a disk of its own: ${String(error)}`;
  }
}

t.test(
  'a script whose disk is full says nothing to the owner and asks to be run later',
  { skip: whyNoSmallDisk() },
  async (t) => {
    t.same(Object.keys(INPUTS).sort(), [...SAMPLE_NAMES].sort());
    for (const name of SAMPLE_NAMES) {
      const dir = t.testdir({ input: INPUTS[name], output: {}, site: {} });
      const full: Ended = { code: SCRIPT_EXIT.later, stdout: '', stderr: /ENOSPC/ as unknown as string };
      const imports = ['import', join(dir, 'input'), join(dir, 'output')];
      t.match(await onSmallDisk(join(dir, 'output'), [name, ...imports], {}), full, `${name}: import`);
      t.same(await readdir(join(dir, 'output')), [], "the disk was the script's alone");
      await writeFile(join(dir, 'input', 'vdi-meta.json'), '{}');
      const installs = ['install-data', 'dataset-1', join(dir, 'input')];
      const env = { DATA_FILES: join(dir, 'site', 'files') };
      t.match(await onSmallDisk(join(dir, 'site'), [name, ...installs], env), full, `${name}: install-data`);
    }
  },
);

t.test('so does a script whose database is full, and no other failure passes for that', async (t) => {
  const coded = (code: string): Error => Object.assign(new Error('could not extend file'), { code });
  const dir = t.testdir({ data: { 'formatted_gene_list.txt': 'G1\n', 'vdi-meta.json': META } });
  await mkdir(join(dir, 'properties'));
  const calls = {
    'install-data': ['dataset-1', join(dir, 'data')],
    'install-meta': ['dataset-1', join(dir, 'data', 'vdi-meta.json'), join(dir, 'properties')],
    uninstall: ['dataset-1'],
  } as const;
  const failures: readonly (readonly [failure: unknown, exit: number])[] = [
    [coded('53100'), SCRIPT_EXIT.later],
    [transient('target AlphaDB: could not extend file', { cause: coded('53100') }), SCRIPT_EXIT.later],
    [coded('EDQUOT'), SCRIPT_EXIT.later],
    [coded('23505'), SCRIPT_EXIT.failed],
    [new Error('no space left on device'), SCRIPT_EXIT.failed],
  ];
  for (const [failure, exit] of failures)
    for (const [kind, args] of Object.entries(calls)) {
      const said: string[] = [];
      const logged: string[] = [];
      const ended = await runSample('genelist', kind as keyof typeof calls, args, noInput(), {
        dataFiles: join(dir, 'site'),
        say: (line) => said.push(line),
        log: (line) => logged.push(line),
        database: () => Promise.reject(failure),
        signal: new AbortController().signal,
      });
      t.same([ended, said, logged.length], [exit, [], 1], `${kind}: ${String(failure)}`);
    }
});

async function* noInput(): AsyncGenerator<string> {}
