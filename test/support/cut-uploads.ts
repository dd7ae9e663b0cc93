// A large upload that is cut at random points, in all ways: the connection drops, the client is killed, the server is killed, the
// server is restarted. It ends byte-identical, little is sent twice, and the server's memory does not grow. The sizes are small
// here; LONGSHORE_CUTS_MIB=5120 LONGSHORE_CUTS=20 make it as large as such uploads are. LONGSHORE_SEED repeats a run. One upload
// per process: e2e/resumable-cuts.test.ts and stack/resumable-cuts-s3.test.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { Api } from './api.ts';
import { CountingRelay } from './counting-relay.ts';
import { freePortBase, longshore, ROOT, tempDir, type Up, up } from './longshore.ts';

const MIB = 1024 * 1024;
export const CUT_UPLOAD_BYTES = Number(process.env.LONGSHORE_CUTS_MIB ?? 256) * MIB;
const SIZE = CUT_UPLOAD_BYTES;
const CUTS = Number(process.env.LONGSHORE_CUTS ?? 8);
const SEED = Number(process.env.LONGSHORE_SEED ?? randomBytes(3).readUIntBE(0, 3));
const TWICE_MIB = 64;
const ALLOWED_MIB = 128;
const WAYS = ['connection', 'client', 'server', 'restart'] as const;
const USER = '5';

/** Mulberry32. */
let state = SEED;
function random(): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

let dir: string;
let ports: readonly string[];
let app: Up;
let token: string;
let api: Api;
let relay: CountingRelay;
let file: string;
let peakMib = 0;

interface Config {
  readonly installer: Record<string, object>;
}

/** Runs the tests. `change` alters the configuration of `longshore up` before anything is uploaded. */
export async function cutUploads(change: (config: Config) => void = () => undefined): Promise<void> {
  dir = await tempDir(t);
  ports = ['--port-base', String(await freePortBase())];
  app = await up(t, dir, ports);
  await app.stop();
  await rewrite(join(dir, 'config.yaml'), change);
  app = await up(t, dir, ports);
  token = await app.token(USER);
  api = new Api(app.endpoints.installer, token);
  relay = await CountingRelay.open(t, Number(new URL(app.endpoints.installer).port));
  file = join(dir, 'big.bin');
  const digest = await writeRandom(file, SIZE);
  t.comment(`seed ${SEED}, ${SIZE / MIB} MiB, ${CUTS} cuts`);
  t.test('an upload that is cut again and again ends byte-identical, and little is sent twice', (t) =>
    cutAgain(t, digest),
  );
  t.test('what was cut often needs hardly more memory than what was not', compareMemory);
}

async function cutAgain(t: Test, digest: string): Promise<void> {
  const before = await usage();
  const points = Array.from({ length: CUTS }, () => Math.floor(random() * SIZE)).sort((a, b) => a - b);
  const sentTwice: string[] = [];
  let client = startClient();
  for (const [i, point] of points.entries()) {
    // Counted from the bytes that count, so that cuts do not come before the place where the last one was.
    const struck = relay.struckAt(relay.bytes + Math.max(MIB, point - (await receivedBytes())));
    await Promise.race([
      struck,
      client.ended.then(({ stderr }) => Promise.reject(new Error(`ended early: ${stderr}`))),
    ]);
    const way = WAYS[i % WAYS.length] as (typeof WAYS)[number];
    const [bytes, cutAt] = [relay.bytes, await cut(way)];
    sentTwice.push(`${way} at ${Math.round(cutAt / MIB)} MiB`);
    relay.reopen();
    if (way === 'client') client = startClient();
    t.ok(relay.bytes >= bytes);
  }
  const { code, stdout, stderr } = await client.ended;
  t.equal(code, 0, stderr);
  const twice = relay.bytes - SIZE;
  t.comment(`${(twice / MIB).toFixed(1)} MiB sent twice in ${CUTS} cuts: ${sentTwice.join(', ')}`);
  t.ok(twice <= CUTS * TWICE_MIB * MIB, `${twice} bytes sent twice`);
  notePeak();
  t.comment(`peak of the server ${peakMib.toFixed(0)} MiB`);
  const id = stdout.trim();
  await packed(id);
  t.equal(await storedDigest(id), digest);
  const shown = (await api.json('/uploads')) as readonly object[];
  t.strictSame(shown, [], 'the upload is used');
  // The archives of the upload and of what is installed, and nothing for the resumable upload.
  t.ok((await usage()) - before < 2.1 * SIZE + MIB, 'and does not count any more');
}

async function compareMemory(t: Test): Promise<void> {
  await app.stop();
  app = await up(t, dir, ports);
  const small = join(dir, 'small.bin');
  await writeRandom(small, 80 * MIB);
  const { code, stderr } = await startClient(small).ended;
  t.equal(code, 0, stderr);
  const cutPeak = peakMib;
  peakMib = 0;
  notePeak();
  t.comment(`peaks: ${cutPeak.toFixed(0)} MiB with cuts, ${peakMib.toFixed(0)} MiB for a small one`);
  t.ok(cutPeak - peakMib < ALLOWED_MIB);
}

/** Ends something. Returns what the server has then. */
async function cut(way: (typeof WAYS)[number]): Promise<number> {
  notePeak();
  if (way === 'client') await killClient();
  if (way === 'server' || way === 'restart') {
    if (way === 'server') await app.crash();
    else await app.stop();
    app = await up(t, dir, ports);
  }
  return receivedBytes();
}

let running: ChildProcess;
async function killClient(): Promise<void> {
  running.kill('SIGKILL');
  await once(running, 'close');
}

function startClient(path = file) {
  const server = `http://127.0.0.1:${relay.port}`;
  const details = [
    '--type',
    'lightweight@1.0',
    '--target',
    'AlphaDB',
    '--name',
    'Cut often',
    '--summary',
    'Large data',
  ];
  const args = ['upload', path, '--server', server, '--token', token, ...details];
  running = spawn(join(ROOT, 'bin', 'longshore'), args, {
    env: { ...process.env, XDG_STATE_HOME: join(dir, 'state') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    running[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  const ended = once(running, 'close').then(([code]) => ({ code: code as number | null, ...said }));
  return { ended };
}

async function receivedBytes(): Promise<number> {
  const [one] = (await api.json('/uploads')) as readonly { readonly offset: number }[];
  return one?.offset ?? 0;
}

async function usage(): Promise<number> {
  return ((await api.json('/users/self/meta')) as { quota: { usage: number } }).quota.usage;
}

function notePeak(): void {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${app.endpoints.pid}/status`, 'utf8')) ?? [];
  peakMib = Math.max(peakMib, Number(kib) / 1024);
}

/** Returns the SHA-256. */
async function writeRandom(path: string, bytes: number): Promise<string> {
  const hash = createHash('sha256');
  async function* pieces() {
    for (let left = bytes; left > 0; left -= MIB) {
      const piece = randomBytes(Math.min(MIB, left));
      hash.update(piece);
      yield piece;
    }
  }
  await pipeline(Readable.from(pieces()), createWriteStream(path));
  return hash.digest('hex');
}

/** Resolves when the archive of the upload can be downloaded. Its import, of gigabytes, is not waited for. */
async function packed(id: string): Promise<void> {
  for (;;) {
    const { status } = (await api.json(`/datasets/${id}`)) as { status: { upload: { status: string } } };
    if (status.upload.status === 'success') return;
    if (status.upload.status !== 'running') throw new Error(`the upload ended ${status.upload.status}`);
    await setTimeout(250);
  }
}

/** Of the data file, as it comes in the archive of the upload. */
async function storedDigest(id: string): Promise<string> {
  const archive = join(dir, 'download.zip');
  const { code, stderr } = await longshore([
    'datasets',
    'download',
    id,
    '--data',
    dir,
    '--user',
    USER,
    '--out',
    archive,
  ]);
  if (code !== 0) throw new Error(stderr);
  const unzip = spawn('unzip', ['-p', archive, 'big.bin'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const hash = createHash('sha256');
  for await (const piece of unzip.stdout) hash.update(piece as Buffer);
  return hash.digest('hex');
}

/** With limits for the size of this test. */
async function rewrite(path: string, change: (config: Config) => void): Promise<void> {
  const config = parse(await readFile(path, 'utf8'));
  const most = `${Math.max(2 * SIZE, 1024 * MIB)}`;
  config.installer.restService = { maxUploadSize: Number(most), userMaxStorageSize: Number(most) * 4 };
  for (const plugin of Object.values(config.installer.plugins) as { dataTypes: { maxFileSize?: number }[] }[])
    for (const type of plugin.dataTypes) type.maxFileSize = Number(most);
  change(config);
  await writeFile(path, stringify(config), { mode: 0o600 });
}
