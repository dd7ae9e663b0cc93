// P5 and P6 share their client: an upload of 1 GiB as multipart/form-data. P5 stores it in a directory with fsync, beside dd
// of the same bytes, and beside a server that only counts them: dd has no connection, which alone may take longer than its disk.

import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { Client } from 'undici';
import { Program } from './program.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { emptyDir } from './started-up.ts';

/** Of a short run, `--datasets` are MiB. */
export const MIB = DATASETS ?? 1_024;
const BLOCK = Buffer.alloc(1024 ** 2, 'longshore');
const BOUNDARY = 'longshore-bench';
const HEAD = Buffer.from(
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="dataFile"; filename="big.bin"\r\n\r\n`,
);
const END = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);

/** MB a second; throws unless all arrived. */
export async function upload(port: number): Promise<number> {
  const bytes = MIB * BLOCK.length;
  function* body(): Generator<Buffer> {
    yield HEAD;
    for (let n = 0; n < MIB; n++) yield BLOCK;
    yield END;
  }
  const client = new Client(`http://127.0.0.1:${port}`, { headersTimeout: 0, bodyTimeout: 0 });
  const begun = performance.now();
  const { statusCode, body: answer } = await client.request({
    ...{ method: 'POST', path: '/upload', body: Readable.from(body()) },
    headers: {
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': String(bytes + HEAD.length + END.length),
    },
  });
  const text = await answer.text();
  const took = performance.now() - begun;
  await client.close();
  if (statusCode !== 200 || (JSON.parse(text) as { bytes: number }).bytes < bytes)
    throw new Error(`an upload was answered ${statusCode}: ${text}`);
  return bytes / 1e3 / took;
}

export const rows: readonly BenchRow[] = [
  {
    id: 'P5',
    title: `upload of ${MIB} MiB (multipart) into the directory store with fsync`,
    unit: 'MB/s',
    better: 'higher',
    sides: {
      dd: { is: 'limit', what: 'dd conv=fsync of the same bytes from the page cache' },
      counts: { is: 'anchor', what: 'bare node:http that only counts the bytes of the same client' },
    },
    bars: [{ over: 'dd', atLeast: 0.8 }],
    async measure(rounds) {
      await using dir = await emptyDir();
      const [source, target, path] = [join(dir.path, 'source'), join(dir.path, 'target'), join(dir.path, 'store')];
      await writeFile(source, Array(MIB).fill(BLOCK));
      await using server = await Program.start('upload-server.ts', 'oursDirectory', JSON.stringify({ path }));
      await using counting = await Program.start('upload-server.ts', 'counts');
      const measured: Round[] = [];
      for (let n = -1; n < rounds; n++) {
        const ours = await upload(server.port);
        const begun = performance.now();
        await promisify(execFile)('dd', [`if=${source}`, `of=${target}`, 'bs=1M', 'conv=fsync', 'status=none']);
        const dd = (MIB * BLOCK.length) / 1e3 / (performance.now() - begun);
        await rm(target);
        const counts = await upload(counting.port);
        if (n >= 0) measured.push({ ours, dd, counts });
      }
      return measured;
    },
  },
];
