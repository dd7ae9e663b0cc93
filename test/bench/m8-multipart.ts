// M8: an upload of 1 GiB as multipart/form-data, its file thrown away. The client is a C program (transfer.c), so that what
// limits is the server.

import { Program } from './program.ts';
import type { BenchRow, Round } from './row.ts';
import { sendUpload } from './transfer.ts';

const GIB = 1024 ** 3;
const CHECKED_BYTES = 40 * 1024 ** 2 + 12_345;
const KINDS = ['ours', 'raw', 'fastifyBusboy', 'busboy'] as const;

const m8: BenchRow = {
  id: 'M8',
  title: 'upload of 1 GiB as multipart/form-data to a null sink',
  unit: 'MB/s',
  better: 'higher',
  sides: {
    fastifyBusboy: { is: 'peer', what: '@fastify/busboy 3 behind bare node:http' },
    busboy: { is: 'peer', what: 'busboy 1.6 behind bare node:http' },
    raw: { is: 'limit', what: 'bare node:http, the body piped as it is' },
  },
  bars: [{ over: 'raw', atLeast: 0.8 }],
  async measure(rounds) {
    await using programs = new AsyncDisposableStack();
    const ports: [kind: string, port: number][] = [];
    for (const kind of KINDS) ports.push([kind, programs.use(await Program.start('upload-server.ts', kind)).port]);
    for (const [, port] of ports) await sendUpload(port, '/upload', 'warm.bin', GIB);
    for (const [kind, port] of ports) if (kind !== 'raw') await demandSameBytes(port);
    const measured: Round[] = [];
    for (let n = 0; n < rounds; n++) {
      const round: Record<string, number> = {};
      for (let i = 0; i < ports.length; i++) {
        const [kind, port] = ports[(i + n) % ports.length] ?? ['', 0];
        round[kind] = (await sendUpload(port, '/upload', 'file.bin', GIB)).mbPerSecond;
      }
      measured.push(round as Round);
    }
    return measured;
  },
};

export const rows: readonly BenchRow[] = [m8];

async function demandSameBytes(port: number): Promise<void> {
  const { crc, received } = await sendUpload(port, '/upload', 'file.checked', CHECKED_BYTES);
  if (received.bytes !== CHECKED_BYTES || received.crc !== crc)
    throw new Error(`port ${port}: ${JSON.stringify(received)} arrived, not ${CHECKED_BYTES} bytes of ${crc}`);
}
