// Sides of M16: the same rows by what else reads many rows from PostgreSQL.

import pg from 'pg';
import Cursor from 'pg-cursor';
import QueryStream from 'pg-query-stream';
import type { PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { RowsSeen } from './rows-seen.ts';
import { ROWS } from './rows-statement.ts';
import { tellOf } from './side-process.ts';

export interface PeerOrder extends PostgresOptions {
  readonly by: 'cursor' | 'stream';
}

interface Row {
  readonly dataset_id: string;
  readonly owner_id: string;
  readonly meta_etag: string | null;
  readonly meta_modified_ms: string | null;
}

const BATCH = 1_000;

void tellOf(async ({ by, host, port, user, password, database }: PeerOrder) => {
  const client = new pg.Client({ host, port, user, password, database });
  await client.connect();
  const seen = new RowsSeen();
  const add = ({ owner_id, dataset_id, meta_etag, meta_modified_ms }: Row): void =>
    seen.add(owner_id, dataset_id, meta_etag ?? undefined, new Date(Number(meta_modified_ms)));
  if (by === 'stream')
    for await (const row of client.query(new QueryStream(ROWS, [], { batchSize: BATCH, highWaterMark: BATCH })))
      add(row as Row);
  else {
    const cursor = client.query(new Cursor<Row>(ROWS));
    for (let rows = await cursor.read(BATCH); rows.length > 0; rows = await cursor.read(BATCH))
      for (const row of rows) add(row);
    await cursor.close();
  }
  await client.end();
  return seen.all;
});
