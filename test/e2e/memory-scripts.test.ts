// Scripts that do what they like, in the real program: memory stays flat, the deadline holds, nothing is left.

import { readFileSync, statSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Agent, FormData, fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { writeZip } from '../../engine/archive/zip-writer.ts';
import { stringifyJson } from '../../engine/model/json.ts';
import { pluginMetadata, unzip } from '../conformance/plugin-client.ts';
import { freePortBase, processesBelow, tempDir, up } from '../support/longshore.ts';

const MIB = 1024 * 1024;
const ALLOWED_MIB = 64;
/** Of `lightweight`, whose script never ends. The one of `genelist` has the hours that are usual. */
const DEADLINE_S = 1;
const PRINTED_BYTES = 500_000_000;

interface Config {
  readonly pluginHost: { readonly token: string };
  readonly installer: {
    readonly plugins: Record<string, { scripts: Record<string, { pathOverride: string; maxDuration?: string }> }>;
  };
}

const dir = await tempDir(t);
const base = String(await freePortBase());
await (await up(t, dir, ['--port-base', base])).stop();
const token = await replaceImports();
const app = await up(t, dir, ['--port-base', base]);
const work = join(dir, 'scratch', 'plugins', 'work');
// Longer than undici would wait.
const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
t.teardown(() => dispatcher.destroy());

/** The import script of two plugins is what lies at `script-{dataset}`. */
async function replaceImports(): Promise<string> {
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  const { genelist, lightweight } = config.installer.plugins;
  if (!genelist || !lightweight) throw new Error('no plugins genelist and lightweight');
  const path = join(dir, 'import.sh');
  await writeFile(path, `#!/bin/sh\n. '${dir}'/script-"$VDI_ID"\n`, { mode: 0o755 });
  genelist.scripts.dataCleaning = { pathOverride: path };
  lightweight.scripts.dataCleaning = { pathOverride: path, maxDuration: `${DEADLINE_S}s` };
  await writeFile(file, stringify(config));
  return config.pluginHost.token;
}

async function emptyFiles(count: number): Promise<Buffer> {
  const file = join(dir, 'payload.zip');
  const body = new Uint8Array();
  const sources = Array.from({ length: count }, (_, i) => ({ path: `d${i % 100}/${i}`, size: 0, body }));
  await writeZip(file, sources, { level: 0 }, new AbortController().signal);
  return readFile(file);
}

async function importOf(dataset: string, script: string, zip: Buffer, type = 'genelist') {
  await writeFile(join(dir, `script-${dataset}`), script);
  const form = new FormData();
  const meta = { ...pluginMetadata(dataset), type: { name: type, version: '1.0' } };
  form.append('details', stringifyJson({ 'event-id': 1, 'vdi-id': dataset, 'job-id': 1, meta }));
  form.append('payload', new Blob([new Uint8Array(zip)]), 'import-ready.zip');
  const response = await fetch(`${app.endpoints.pluginHost}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: form,
    dispatcher,
  });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

/** Of the program, its threads included, in MiB: the highest resident memory that it ever had. */
function peakMib(): number {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${app.endpoints.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Processes of scripts, wherever they went. */
const scripts = (): readonly number[] =>
  processesBelow(dir).filter((pid) => {
    try {
      return /LONGSHORE_RUN=/.test(readFileSync(`/proc/${pid}/environ`, 'latin1'));
    } catch {
      return false; // gone meanwhile
    }
  });

/** A workspace goes after its answer: resolves when none is left, else the test runs into its time limit. */
async function emptied(): Promise<void> {
  while ((await readdir(work)).length > 0) await nextTurn();
}

const print = (bytes: number): string =>
  `yes ${'x'.repeat(99)} | head -c ${bytes}; yes ${'y'.repeat(99)} | head -c ${bytes / 10} >&2; `;

/** Processes that would outlive the script: two hold its pipes, two heed no signal, two are in sessions of their own. */
const LEAVES_OTHERS = `trap "" TERM HUP
sleep 600 &
(trap "" TERM; sleep 600) &
setsid sleep 600 &
setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &
`;

t.test('500 MB of output and processes that hold the pipes: memory stays flat, and nothing is left', async (t) => {
  const zip = await emptyFiles(1);
  for (const dataset of ['warm-1', 'warm-2']) {
    const { status } = await importOf(dataset, `${print(PRINTED_BYTES / 10)} : >"$2/out"`, zip);
    t.equal(status, 200);
  }
  const before = peakMib();
  const logBytes = statSync(join(dir, 'longshore.log')).size;
  const { status } = await importOf('wild', `${LEAVES_OTHERS}${print(PRINTED_BYTES)} : >"$2/out"`, zip);
  t.equal(status, 200);
  const more = peakMib() - before;
  t.comment(`peak ${before.toFixed(0)} MiB before, ${more.toFixed(0)} MiB more after`);
  t.ok(more < ALLOWED_MIB, `the peak grew by ${more.toFixed(0)} MiB`);
  t.strictSame(scripts(), [], 'no process of it is left');
  await emptied();
  t.ok(statSync(join(dir, 'longshore.log')).size - logBytes < 16 * MIB, 'nor is the log full of it');
});

t.test('a script without an ear for SIGTERM is ended after its deadline, with all that it started', async (t) => {
  const endless = `${LEAVES_OTHERS}while :; do sleep 1; done`;
  const { status, body } = await importOf('endless', endless, await emptyFiles(1), 'lightweight');
  t.match([status, `${body}`], [500, new RegExp(`import\\.sh took longer than its ${DEADLINE_S} s`)]);
  t.strictSame(scripts(), [], 'no process of it is left');
  await emptied();
});

t.test('100,000 empty files are imported, 100,001 are refused', async (t) => {
  const script = 'find "$1" -type f ! -name vdi-meta.json | wc -l >"$2/count"';
  const { status, body } = await importOf('many', script, await emptyFiles(100_000));
  t.equal(status, 200);
  await writeFile(join(dir, 'reply.zip'), body);
  await writeFile(join(dir, 'data.zip'), (await unzip(join(dir, 'reply.zip')))['data.zip'] ?? '');
  t.equal(`${(await unzip(join(dir, 'data.zip'))).count}`.trim(), '100000');
  const refused = await importOf('more', script, await emptyFiles(100_001));
  t.match([refused.status, `${refused.body}`], [400, /the archive has 100001 entries; at most 100000 are allowed/]);
  await emptied();
});
