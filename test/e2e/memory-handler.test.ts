// Memory stays flat, and the disk is given back: a handler job whose archive has 200 MB, and whose result is twice that,
// needs hardly more than a job of 25 MB did. Random bytes, so that no step gets off lightly by packing them.

import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join, relative } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import t from 'tap';
import { fetch } from 'undici';
import { readTarGz } from '../../engine/archive/tar-reader.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';

const MIB = 1024 * 1024;
const BIG_BYTES = 200_000_000;
const WARM_UP_BYTES = 25_000_000;
/** Each may use other threads; only then does the garbage that each may hold come on top of all the others. */
const WARM_UPS = 4;
const ALLOWED_MIB = 64;
const NAME = Buffer.from('data.bin');
const COPIES = ['1', '2'];

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
await writeFile(
  join(dir, 'handler', 'copy-inputs'),
  `#!/bin/sh\nset -eu\nmkdir output\n${COPIES.map((name) => `cp data.bin output/${name}`).join('\n')}\n`,
  { mode: 0o755 },
);
const block = randomBytes(MIB);

/** Highest resident memory that the process ever had, in MiB; its threads are part of it. */
function peakMib(): number {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${app.endpoints.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

function* blocks(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= block.length) yield left < block.length ? block.subarray(0, left) : block;
}

const fields = (...values: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer =>
  Buffer.concat(
    values.map(([bytes, value]) => {
      const field = Buffer.alloc(bytes);
      field.writeUIntLE(value, 0, bytes);
      return field;
    }),
  );

/** A zip of exactly so many bytes, with one file that is stored as it is, whose size is told. */
function zipOf(bytes: number): { readonly chunks: Iterable<Buffer>; readonly content: number } {
  const content = bytes - (30 + NAME.length) - (46 + NAME.length) - 22;
  let crc = 0;
  for (const chunk of blocks(content)) crc = crc32(chunk, crc);
  const common = fields(
    [2, 20],
    [2, 0],
    [2, 0],
    [4, 0x00210000],
    [4, crc],
    [4, content],
    [4, content],
    [2, NAME.length],
  );
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, fields([2, 0]), NAME]);
  const central = Buffer.concat([
    Buffer.from('PK\x01\x02\x14\x03'),
    common,
    fields([2, 0], [2, 0], [2, 0], [2, 0], [4, 0o100644 * 65_536], [4, 0]),
    NAME,
  ]);
  const at = local.length + content;
  const end = Buffer.concat([
    Buffer.from('PK\x05\x06'),
    fields([2, 0], [2, 0], [2, 1], [2, 1], [4, central.length], [4, at], [2, 0]),
  ]);
  function* chunks(): Generator<Buffer> {
    yield local;
    yield* blocks(content);
    yield central;
    yield end;
  }
  return { chunks: chunks(), content };
}

const jobUrl = (id: string, tail = ''): string => `${app.endpoints.handler}/job/${id}${tail}`;

/** Uploads; the answer's body is still to be read. */
async function post(id: string, bytes: number, chunks: Iterable<Buffer>): Promise<IncomingMessage> {
  const registered = await fetch(jobUrl(id), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ projects: ['AlphaDB'], owner: 42, name: 'Much data' }),
  });
  if (registered.status !== 204) throw new Error(`PUT: ${registered.status} ${await registered.text()}`);
  const call = request(jobUrl(id), {
    method: 'POST',
    headers: { 'content-type': 'application/zip', 'content-length': bytes },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    call.once('error', reject);
    call.once('response', resolve);
  });
  await pipeline(Readable.from(chunks), call);
  return answered;
}

/** SHA-256 of each file of the result, which is read as it comes. */
async function hashes(result: Readable): Promise<Readonly<Record<string, string>>> {
  const source = new PassThrough();
  const read = pipeline(result, source);
  const limits = { maxTotalBytes: 2 ** 32, maxFileBytes: 2 ** 32, maxEntries: 10 };
  const found: Record<string, string> = {};
  for await (const { path, body } of readTarGz(source, { limits }, new AbortController().signal)) {
    const hash = createHash('sha256');
    for await (const chunk of body) hash.update(chunk as Buffer);
    if (path.startsWith('datafiles/')) found[path] = hash.digest('hex');
  }
  await read;
  return found;
}

/** Files of so many bytes or more below the data directory. */
function filesFrom(bytes: number): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) >= bytes)
    .map((file) => relative(dir, file));
}

t.test(`an archive of ${BIG_BYTES} bytes, and a result of twice that`, async (t) => {
  for (let i = 0; i < WARM_UPS; i++) {
    const small = await post(`warm-${i}`, WARM_UP_BYTES, zipOf(WARM_UP_BYTES).chunks);
    t.equal(small.statusCode, 200);
    t.strictSame(Object.keys(await hashes(small)), ['datafiles/1', 'datafiles/2']);
    t.comment(`peak after a warm-up of ${WARM_UP_BYTES} bytes: ${peakMib().toFixed(0)} MiB`);
  }
  const before = peakMib();
  const { chunks, content } = zipOf(BIG_BYTES);
  const answer = await post('big', BIG_BYTES, chunks);
  t.equal(answer.statusCode, 200);
  t.ok(Number(answer.headers['content-length']) > 2 * content, 'two copies');
  const hash = createHash('sha256');
  for (const chunk of blocks(content)) hash.update(chunk);
  const digest = hash.digest('hex');
  t.strictSame(await hashes(answer), { 'datafiles/1': digest, 'datafiles/2': digest }, 'whole');
  const more = peakMib() - before;
  t.comment(`peak: ${peakMib().toFixed(0)} MiB`);
  t.ok(more < ALLOWED_MIB, `the peak grew by ${more.toFixed(0)} MiB`);

  const status = (await (await fetch(jobUrl('big', '/status'))).json()) as { size: number };
  t.equal(status.size, BIG_BYTES);
  t.match(
    filesFrom(WARM_UP_BYTES * 3),
    [/^objects\/objects\/handler\/[0-9a-f-]{36}\/result\.tgz$/],
    'only the result stays',
  );
  t.equal(filesFrom(WARM_UP_BYTES * 3).length, 1);
  t.strictSame(readdirSync(join(dir, 'scratch', 'handler', 'work')), []);
});
