// M10: an upload of 1 GiB as multipart/form-data on its way into an object store, which throws it away (transfer.c). Ours
// does not know how long the file is; the sides do, and send the body as it is.

import { Program } from './program.ts';
import type { BenchRow, Round } from './row.ts';
import { NullStore, sendUpload } from './transfer.ts';

const GIB = 1024 ** 3;
const CHECKED_BYTES = 40 * 1024 ** 2 + 12_345;
const KINDS = { ours: 'oursStored', raw: 'rawStored', minio: 'minioStored' } as const;

const m10: BenchRow = {
  id: 'M10',
  title: 'upload of 1 GiB as multipart/form-data into an object store that discards, plain HTTP',
  unit: 'MB/s',
  rounds: 15,
  better: 'higher',
  sides: {
    minio: { is: 'peer', what: 'bare node:http, the body by putObject of minio, which is told the length' },
    raw: { is: 'limit', what: 'bare node:http, the body piped into one PUT with its length' },
  },
  bars: [
    { over: 'minio', atLeast: 3 },
    { over: 'raw', atLeast: 0.8 },
    { of: 'oursPeakMb', over: 'minioPeakMb', atMost: 0.5 },
  ],
  async measure(rounds) {
    await using store = await NullStore.start();
    const measured: Round[] = [];
    for (let n = -1; n < rounds; n++) {
      const round: Record<string, number> = {};
      const kinds = Object.entries(KINDS);
      for (let i = 0; i < kinds.length; i++) {
        const [name, kind] = kinds[(i + n + 1) % kinds.length] ?? ['', ''];
        await using server = await Program.start('upload-server.ts', kind, String(store.port));
        if (kind === 'oursStored') await demandSameBytes(server, store);
        else await sendUpload(server.port, '/upload', 'warm.bin', CHECKED_BYTES);
        round[name] = (await sendUpload(server.port, '/upload', 'file.bin', GIB)).mbPerSecond;
        round[`${name}PeakMb`] = server.peakMb;
      }
      if (n >= 0) measured.push(round as Round);
    }
    return measured;
  },
};

export const rows: readonly BenchRow[] = [m10];

async function demandSameBytes(server: Program, store: NullStore): Promise<void> {
  const { crc } = await sendUpload(server.port, '/upload', 'file.checked', CHECKED_BYTES);
  const stored = await store.head('/bench/1/bench/raw/file.checked');
  if (stored.bytes !== CHECKED_BYTES || stored.crc !== crc)
    throw new Error(`${JSON.stringify(stored)} was stored, not ${CHECKED_BYTES} bytes of ${crc}`);
}
