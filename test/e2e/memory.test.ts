// Memory stays flat, and the disk is given back: a dataset of 400 MiB needs hardly more than one of 32 MiB did, from
// its upload to its files on the sites. Random bytes, so that no step gets off lightly by packing them.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';

const MIB = 1024 * 1024;
const WARM_UP_MIB = 32;
const WARM_UPS = 2;
const BIG_MIB = 400;
const ALLOWED_MIB = 64;
const USER = '5';

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const token = await app.token(USER);
const api = new Api(app.endpoints.installer, token);
const block = randomBytes(MIB);

/** Highest resident memory that the process ever had, in MiB; its threads are part of it. */
function peakMib(): number {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${app.endpoints.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

async function* multipart(mib: number, boundary: string): AsyncGenerator<Buffer> {
  const details = JSON.stringify(detailsOf('lightweight'));
  yield Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="details"\r\ncontent-type: application/json\r\n\r\n${details}\r\n` +
      `--${boundary}\r\ncontent-disposition: form-data; name="dataFile"; filename="big.bin"\r\n\r\n`,
  );
  for (let i = 0; i < mib; i++) yield block;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

async function upload(mib: number): Promise<string> {
  const boundary = 'longshore-memory-test';
  const call = request(`${app.endpoints.installer}/datasets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': `multipart/form-data; boundary=${boundary}` },
  });
  const answered = new Promise<string>((resolve, reject) => {
    call.once('error', reject);
    call.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => resolve(Buffer.concat(chunks).toString()));
    });
  });
  await pipeline(multipart(mib, boundary), call);
  const body = JSON.parse(await answered) as { datasetId?: string };
  if (body.datasetId === undefined) throw new Error(`not accepted: ${JSON.stringify(body)}`);
  return body.datasetId;
}

/** Bytes of the packed upload, read as soon as it is there. */
async function download(id: string): Promise<number> {
  for (;;) {
    const { status } = (await api.json(`/datasets/${id}`)) as { status: { upload: { status: string } } };
    if (status.upload.status === 'success') break;
    if (status.upload.status !== 'running') throw new Error(`the upload ended ${status.upload.status}`);
    await setTimeout(250);
  }
  const response = await api.get(`/datasets/${id}/files/upload`);
  if (response.status !== 200) throw new Error(`download: ${response.status}`);
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
  return bytes;
}

/** How the dataset ends. */
async function ending(id: string): Promise<string> {
  const { stdout } = await longshore(['watch', id, '--data', dir, '--user', USER]);
  return stdout.trim();
}

/** Files of so many bytes or more below the data directory. */
function filesFrom(bytes: number): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) >= bytes)
    .map((file) => relative(dir, file))
    .sort();
}

t.test(`${BIG_MIB} MiB from the upload to the sites`, async (t) => {
  // The second finds all threads there: only now does the garbage that each may hold come on top of all the others.
  for (let i = 0; i < WARM_UPS; i++) {
    const small = await upload(WARM_UP_MIB);
    t.ok((await download(small)) > WARM_UP_MIB * MIB);
    t.equal(await ending(small), 'installed');
    t.comment(`peak after a warm-up of ${WARM_UP_MIB} MiB: ${peakMib().toFixed(0)} MiB`);
  }
  const before = peakMib();
  const staysFlat = (step: string): void => {
    const more = peakMib() - before;
    t.ok(more < ALLOWED_MIB, `${step}: the peak grew by ${more.toFixed(0)} MiB`);
  };

  const big = await upload(BIG_MIB);
  staysFlat('upload');
  t.ok((await download(big)) > BIG_MIB * MIB);
  staysFlat('packing and download');
  t.equal(await ending(big), 'installed');
  staysFlat('import and installation');

  t.strictSame(
    filesFrom(BIG_MIB * MIB),
    [
      ...['import-ready.zip', 'install-ready.zip'].map((name) => `objects/objects/${USER}/${big}/${name}`),
      ...['AlphaDB', 'BetaDB'].map((site) => `sites/${site}/${big}/big.bin`),
    ],
    'the disk holds what is kept, and neither raw files nor scratch',
  );
});
