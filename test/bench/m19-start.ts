// M19: `longshore up` until it is ready, in an empty directory and in the one that it left, and its end; beside the embedded
// database by itself, which it cannot be ready before.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePortBase } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { openedOnce } from './opened-once.ts';
import type { BenchRow, Round } from './row.ts';
import { builtBinary, emptyDir, FROM_SOURCE, type ProgramArgv, StartedUp } from './started-up.ts';

const binary = openedOnce(async () => {
  const dir = await emptyDir();
  return { argv: await builtBinary(dir.path), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
});
export const close = (): Promise<void> => binary.close();

export const rows: readonly BenchRow[] = [
  row('a', 'from source', async () => FROM_SOURCE),
  row('b', 'the executable', async () => (await binary.get()).argv),
];

function row(letter: string, what: string, program: () => Promise<ProgramArgv>): BenchRow {
  return {
    id: `M19${letter}`,
    title: `longshore up until it is ready, from nothing and again, ${what}`,
    unit: 's',
    better: 'lower',
    sides: { database: { is: 'limit', what: 'the embedded database from nothing until it takes connections' } },
    bars: [{ atMost: 4 }, { of: 'warm', atMost: 2 }, { of: 'end', atMost: 2 }],
    async measure(rounds) {
      const argv = await program();
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) measured.push(await round(argv));
      return measured;
    },
  };
}

async function round(argv: ProgramArgv): Promise<Round> {
  await using dir = await emptyDir();
  const portBase = await freePortBase();
  const data = join(dir.path, 'data');
  await using cold = await StartedUp.start(argv, data, portBase);
  await cold.stop();
  await using warm = await StartedUp.start(argv, data, portBase);
  const end = await warm.stop();
  const alone = join(dir.path, 'alone');
  await mkdir(alone, { mode: 0o711 });
  const [database, databaseWarm] = [await databaseSeconds(alone), await databaseSeconds(alone)];
  return { ours: cold.readySeconds, warm: warm.readySeconds, end, database, databaseWarm };
}

async function databaseSeconds(dir: string): Promise<number> {
  const options = { dir, port: await freePort(), password: 'benchmark', path: process.env.PATH };
  const begun = performance.now();
  await using _server = await startEmbeddedPostgres(options, systemClock, silentLogger(), new AbortController().signal);
  return (performance.now() - begun) / 1000;
}
