// The limit: a bare table and the statement that completes a batch and claims the next, nothing done with a job.

import pg from 'pg';
import type { DurableServer } from './durable-server.ts';
import { type JobEngine, Tally, untilEmpty } from './job-engine.ts';

const TABLE = `
create table job (id bigint primary key, kind text not null, state smallint not null default 0, attempt integer not null
  default 0, locked_until timestamptz, payload jsonb not null) with (fillfactor = 70);
create index job_runnable on job (kind, id) where state = 0`;
const COMPLETE_AND_FETCH = `
with d as (delete from job where id = any($3::bigint[])),
  c as (select id from job where kind = $1 and state = 0 order by id limit $2 for update skip locked)
update job j set state = 1, attempt = attempt + 1, locked_until = now() + interval '1 min' from c where j.id = c.id
returning j.id, j.payload`;
const FILL = `
insert into job (id, kind, payload)
select n, 'import', jsonb_build_object('dataset', 'bench' || n, 'owner', 4242, 'event', n, 'source', 'store',
  'note', repeat('x', 60)) from generate_series(0, $1::integer - 1) n`;

/** Each on a connection of its own. */
const LOOPS = 2;

/** Holds `width` jobs in memory. */
export async function rawLoop(server: DurableServer, name: string, width: number): Promise<JobEngine> {
  const database = await server.database(name);
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ ...server.postgres, database });
    await client.connect();
    return client;
  };
  const admin = await connect();
  await admin.query(TABLE);
  const clients = await Promise.all(Array.from({ length: LOOPS }, connect));
  const completeAndFetch = async (client: pg.Client, done: readonly string[]) => {
    const values = ['import', width / LOOPS, done];
    return (
      await client.query<{ id: string; payload: { event: number } }>({ name: 'x', text: COMPLETE_AND_FETCH, values })
    ).rows;
  };
  return {
    async fill(count) {
      await admin.query(FILL, [count]);
    },
    async drain(count) {
      const tally = new Tally(count);
      const loop = async (client: pg.Client): Promise<void> => {
        for (let done: string[] = []; ; ) {
          const rows = await completeAndFetch(client, done);
          for (const { payload } of rows) tally.ended(payload.event, payload);
          done = rows.map(({ id }) => id);
          if (done.length === 0) return;
        }
      };
      await Promise.all(clients.map(loop));
      await untilEmpty(async () => Number((await admin.query('select count(*) as n from job')).rows[0].n));
      return await tally.all;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([admin, ...clients].map((client) => client.end()));
    },
  };
}
