// M16: a million datasets of the cache read from PostgreSQL in the order of the store's keys, as the reconciler reads them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { millionDatasets } from './million-datasets.ts';
import { datasetOf, etagOf, modifiedOf, ownerOf } from './million-objects.ts';
import type { BenchRow, Round } from './row.ts';
import { RowsSeen } from './rows-seen.ts';
import { ROWS } from './rows-statement.ts';
import { openSides } from './side-process.ts';

const ROWS_COUNT = 1_000_000;

const m16: BenchRow = {
  id: 'M16',
  title: 'datasets a second, 1,000,000 rows of the cache in the order of keys',
  unit: 'rows/s',
  better: 'higher',
  rounds: 11,
  sides: {
    stream: { is: 'peer', what: 'pg-query-stream, batches of 1,000' },
    cursor: { is: 'peer', what: 'pg-cursor, 1,000 rows at a time' },
    psql: { is: 'limit', what: 'psql, COPY of the same columns, only counted' },
  },
  bars: [
    { over: 'stream', atLeast: 2.8 },
    { of: 'ours RSS MiB', over: 'stream RSS MiB', atMost: 0.65 },
  ],
  async measure(rounds) {
    await using datasets = await millionDatasets();
    await datasets.fill(ROWS_COUNT);
    await using sides = await openSides();
    const { options } = datasets;
    const seen = new RowsSeen();
    for (let n = 0; n < ROWS_COUNT; n++) seen.add(ownerOf(n), datasetOf(n), etagOf(n), new Date(modifiedOf(n)));
    const round = async (): Promise<Round> => {
      const ours = await sides.run('rows-ours.ts', options, seen.all);
      const stream = await sides.run('rows-peers.ts', { ...options, by: 'stream' }, seen.all);
      const cursor = await sides.run('rows-peers.ts', { ...options, by: 'cursor' }, seen.all);
      const psql = await copied(options);
      return {
        ...{ ours: ROWS_COUNT / ours.seconds, stream: ROWS_COUNT / stream.seconds },
        ...{ cursor: ROWS_COUNT / cursor.seconds, psql: ROWS_COUNT / psql },
        ...{ 'ours RSS MiB': ours.peakMib, 'stream RSS MiB': stream.peakMib, 'cursor RSS MiB': cursor.peakMib },
      };
    };
    await round();
    const measured = [];
    for (let n = 0; n < rounds; n++) measured.push(await round());
    return measured;
  },
};

export const rows: readonly BenchRow[] = [m16];

/** Seconds of a COPY by psql, start included. */
async function copied({ host, port, user, password, database }: PostgresOptions): Promise<number> {
  const args = ['-h', host, '-p', String(port), '-U', user, '-d', database, '-c', `copy (${ROWS}) to stdout`];
  const begun = performance.now();
  const psql = spawn('psql', args, {
    env: { ...process.env, PGPASSWORD: password },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  let lines = 0;
  psql.stdout.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  });
  await once(psql, 'close');
  if (lines !== ROWS_COUNT) throw new Error(`psql wrote ${lines} rows`);
  return (performance.now() - begun) / 1000;
}
