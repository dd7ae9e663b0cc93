// M9: what an upload takes of memory, as the most that the server ever had resident. Each figure is of a server of its own,
// which took nothing else. Files are thrown away: what a store keeps in memory for its parts is M10's.

import { Program } from './program.ts';
import type { BenchRow, Round } from './row.ts';
import { sendUpload } from './transfer.ts';

const MIB = 1024 ** 2;
const GIB = 1024 * MIB;
const MB = 1e6;
/** Uploads at once, and what each may take more than one alone. */
const AT_ONCE = 8;
const EACH_MORE_MB = (4 * MIB) / MB;
const OVER_RAW_MB = (16 * MIB) / MB;

const m9: BenchRow = {
  id: 'M9',
  title: 'peak resident memory of a server that takes an upload of 1 GiB as multipart/form-data',
  unit: 'MB',
  rounds: 11,
  better: 'lower',
  sides: {
    fastifyBusboy: { is: 'peer', what: '@fastify/busboy 3 behind bare node:http' },
    busboy: { is: 'peer', what: 'busboy 1.6 behind bare node:http' },
    raw: { is: 'limit', what: 'bare node:http, the body piped as it is' },
  },
  bars: [
    { of: 'ours4GiB', over: 'ours256MiB', atMost: 1.05 },
    { of: 'overRaw', atMost: round(OVER_RAW_MB), unit: 'MB' },
    { of: 'eightMore', atMost: round(AT_ONCE * EACH_MORE_MB), unit: 'MB' },
  ],
  async measure(rounds) {
    const measured: Round[] = [];
    for (let n = -1; n < rounds; n++) {
      const ours = await peakOf('ours', GIB);
      const raw = await peakOf('raw', GIB);
      const eightAtOnce = await peakOf('ours', GIB / AT_ONCE, AT_ONCE);
      const round: Round = {
        ...{ ours, raw },
        ...{ fastifyBusboy: await peakOf('fastifyBusboy', GIB), busboy: await peakOf('busboy', GIB) },
        ...{ ours16MiB: await peakOf('ours', 16 * MIB), ours64MiB: await peakOf('ours', 64 * MIB) },
        ...{ ours256MiB: await peakOf('ours', 256 * MIB), ours4GiB: await peakOf('ours', 4 * GIB) },
        ...{ raw256MiB: await peakOf('raw', 256 * MIB), eightAtOnce },
        ...{ overRaw: ours - raw, eightMore: eightAtOnce - ours },
      };
      if (n >= 0) measured.push(round);
    }
    return measured;
  },
};

export const rows: readonly BenchRow[] = [m9];

/** Of a new server that takes so many files of so many bytes, all at once. */
async function peakOf(kind: string, bytes: number, files = 1): Promise<number> {
  await using server = await Program.start('upload-server.ts', kind);
  await Promise.all(Array.from({ length: files }, () => sendUpload(server.port, '/upload', 'file.bin', bytes)));
  return server.peakMb;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
