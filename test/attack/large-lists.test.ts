// Lists of datasets whose metadata are as large as may be, asked for by many who take none of it.

import pg from 'pg';
import t from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { attacker } from './support/attacker.ts';
import { servedVictim } from './support/victim.ts';

const DATASETS = 160;
const METADATA_BYTES = 950_000;
const READERS = 40;

const app = await servedVictim(t, {});
const owner = await app.token('42');
const id = await new Api(app.url, owner).upload(
  detailsOf('genelist', { installTargets: ['SiteA'], visibility: 'public' }),
  [{ name: 'genes.txt', content: geneList(5) }],
);
await multiply(id);

/** As if it had been uploaded so many times with much to say; random, because the database packs what repeats. */
async function multiply(dataset: string): Promise<void> {
  const client = new pg.Client(app.db);
  await client.connect();
  try {
    const { rows } = await client.query<{ schema: string; columns: string }>(
      `select table_schema as schema, string_agg(quote_ident(column_name), ', ') as columns
       from information_schema.columns where table_name = 'dataset' and is_generated = 'NEVER' group by 1`,
    );
    const [{ schema, columns } = { schema: '', columns: '' }] = rows;
    await client.query(`set search_path to ${pg.escapeIdentifier(schema)}`);
    await client.query(
      `with much as materialized (
         select string_agg(md5(random()::text || k), '') as text from generate_series(1, $2::integer / 32) k)
       insert into dataset (${columns}) select ${columns} from (
         select (jsonb_populate_record(d, jsonb_build_object(
           'dataset_id', left(d.dataset_id, 8) || lpad(n::text, 3, '0'),
           'root_id', left(d.dataset_id, 8) || lpad(n::text, 3, '0'),
           'metadata', d.metadata || jsonb_build_object('summary', much.text || n)))).*
         from dataset d, much, generate_series(1, $3::integer) n where d.dataset_id = $1) made`,
      [dataset, METADATA_BYTES, DATASETS],
    );
  } finally {
    await client.end();
  }
}

for (const [what, path, token] of [
  ['the community list, of guests', '/datasets/community', await app.token('77', '--guest')],
  ['the list of the owner', '/datasets', owner],
  ['the report of all datasets', '/admin/reports/datasets/list-all?limit=1000', undefined],
] as const)
  t.test(`${what}: readers that take nothing cost a bounded amount of memory`, async (t) => {
    const attackers = await Promise.all(Array.from({ length: READERS }, () => attacker(t, app.url)));
    const who = token === undefined ? `admin-token: ${app.adminToken}` : `authorization: Bearer ${token}`;
    for (const { socket } of attackers) socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${who}\r\n\r\n`);
    // Nobody reads on, but each answer has begun, or its connection was closed for the others' sake.
    await Promise.all(attackers.map((one) => one.begun));
    await app.holds(t);
    for (const { socket } of attackers) socket.destroy();
  });
