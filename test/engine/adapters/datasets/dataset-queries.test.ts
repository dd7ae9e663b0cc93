import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { listStatement, pageStatement } from '../../../../engine/adapters/datasets/dataset-list-statements.ts';
import { PostgresDatasetQueries } from '../../../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { relatedStatement } from '../../../../engine/adapters/datasets/related-datasets.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import { type ListFilter, MOST_FOUND } from '../../../../engine/ports/dataset-queries.ts';
import { datasetPagesConformance } from '../../../conformance/dataset-pages.ts';
import { type DatasetQueriesSetup, datasetQueriesConformance } from '../../../conformance/dataset-queries.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { metadataOf, newUser, PLASMO } from '../../../support/dataset-samples.ts';
import { plansOf, recordingSql } from '../../../support/statement-plans.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const queries = new PostgresDatasetQueries(db);

async function setup(): Promise<DatasetQueriesSetup> {
  return {
    queries,
    catalog: new PostgresCatalog(db),
    uploads: new PostgresUploads(db, { instance: 1 }),
    grant: (name) => grantLease(db, name),
    share: async (dataset, recipient, offer, receipt) => {
      await db.query('insert into dataset_share values ($1, $2::numeric, $3, $4)', [
        dataset,
        recipient,
        offer ?? null,
        receipt ?? null,
      ]);
    },
  };
}

t.test('PostgreSQL', async (t) => {
  datasetQueriesConformance(t, setup);
  datasetPagesConformance(t, setup);
});

/** 1,000 datasets of one owner among 5,000 of others, each with a target, two statuses and versions; 600 are shared. */
async function fill(t: Test): Promise<{ owner: UserId; recipient: UserId }> {
  const [owner, recipient] = [newUser(), newUser()];
  await db.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, project_name, created, upload_status, import_status, upload_file_count, raw_bytes, meta_etag, meta_modified_ms,
       data_etag, data_modified_ms)
     select 'bulk' || n, case when n % 6 = 0 then $1::numeric else n end, 'bulk' || n, 0, 'live', 't', '1', $2::jsonb,
       'private', 'n' || n, 'project ' || n % 1000, now() - n * interval '1 minute', 'success', 'complete', n, 1, 'e', 1, 'e', 1
     from generate_series(1, 6000) n`,
    [owner, JSON.stringify(metadataOf('7' as UserId))],
  );
  await db.query(`insert into dataset_target select dataset_id, $1 from dataset where dataset_id like 'bulk%'`, [
    PLASMO,
  ]);
  await db.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     select dataset_id, $1, k, 'complete' from dataset, unnest('{meta,data}'::text[]) k where dataset_id like 'bulk%'`,
    [PLASMO],
  );
  await db.query(
    `insert into dataset_share select 'bulk' || n * 10, $1::numeric, 'grant', 'accept' from generate_series(1, 600) n`,
    [recipient],
  );
  await db.query('vacuum (analyze)');
  t.teardown(() => db.query(`delete from dataset where dataset_id like 'bulk%'`));
  return { owner, recipient };
}

const explain = async ({ text, values }: { text: string; values: readonly unknown[] }, options = ''): Promise<string> =>
  (await db.query<{ 'QUERY PLAN': string }>(`explain ${options} ${text}`, values))
    .map((row) => row['QUERY PLAN'])
    .join('\n');

t.test(
  'a dataset that names no project, program or publication has no relatives, which needs no statement',
  async (t) => {
    const asked: string[] = [];
    const watched = new PostgresDatasetQueries({
      query: <Row extends object>(text: string) => {
        asked.push(text);
        return db.query<Row>(text.replace(/\$\d+/g, 'null'));
      },
    });
    const owner = newUser();
    const publications = [{ identifier: '1', type: 'pmid', isPrimary: true }] as const;
    for (const [about, statements] of [
      [{}, 0],
      [{ publications: [] }, 0],
      [{ projectName: 'p' }, 1],
      [{ programName: 'p' }, 1],
      [{ publications }, 1],
    ] as const) {
      asked.length = 0;
      t.strictSame(await watched.related('none' as DatasetId, metadataOf(owner, about), owner, signal), []);
      t.equal(asked.length, statements, Object.keys(about).join());
    }
  },
);

t.test('a word that more datasets have than a search compares finds the newest of them', async (t) => {
  const viewer = newUser();
  const count = MOST_FOUND.otherwise + 50;
  await db.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility, name,
       created, upload_status, import_status)
     select 'often' || n, $1::numeric, 'often' || n, 0, 'live', 't', '1', $2::jsonb, 'public', 'n',
       now() - n * interval '1 minute', 'success', 'complete' from generate_series(1, $3::integer) n`,
    [viewer, JSON.stringify(metadataOf(viewer, { name: 'Frequent' })), count],
  );
  t.teardown(() => db.query(`delete from dataset where dataset_id like 'often%'`));
  await db.query('vacuum (analyze) dataset, dataset_search');
  const after = { keys: ['n'], dataset: 'often5' as DatasetId };
  for (const page of [{ limit: 100 }, { limit: 100, after }])
    t.match(
      await explain(pageStatement({ viewer, ownership: 'community' }, { sort: 'name', descending: false }, page)),
      /dataset_community_name/,
      'the community is read in the order of names',
    );
  const newest = Array.from({ length: 10 }, (_, n) => `often${n + 1}`);
  for (const [ownership, words] of [
    ['owned', 'frequent'],
    ['owned', 'frequent -nothing'],
    ['community', 'frequent'],
    ['any', 'frequent'],
  ] as const)
    for (const [sort, most] of [
      ['relevance', MOST_FOUND.byRelevance],
      ['created', MOST_FOUND.otherwise],
    ] as const) {
      const selection = { viewer, ownership, search: { words, beginnings: '' } };
      const order = { sort, descending: true };
      t.equal(await queries.count(selection, order, signal), most, `${ownership}, by ${sort}: ${words}`);
      const { datasets } = await queries.page(selection, order, { limit: 10 }, signal);
      t.strictSame(
        (await Array.fromAsync(datasets)).map(({ dataset }) => dataset),
        newest,
      );
    }
});

t.test(
  'a dataset that changes its visibility enters and leaves the searches of the community, with its words',
  async (t) => {
    const owner = newUser();
    const id = 'shown' as DatasetId;
    await db.query(
      `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility, name,
       created, upload_status, import_status)
     values ($1, $2::numeric, $1, 0, 'live', 't', '1', $3::jsonb, 'private', 'n', now(), 'success', 'complete')`,
      [id, owner, JSON.stringify(metadataOf(owner, { name: 'Quokka' }))],
    );
    t.teardown(() => db.query('delete from dataset where dataset_id = $1', [id]));
    const found = (ownership: 'owned' | 'community'): Promise<number> => {
      const selection = { viewer: owner, ownership, search: { words: 'quokka', beginnings: '' } };
      return queries.count(selection, { sort: 'relevance', descending: true }, signal);
    };
    const partitions = async (): Promise<readonly string[]> => {
      const text = 'select tableoid::regclass::text as name from dataset_search where dataset_id = $1';
      return (await db.query<{ name: string }>(text, [id])).map(({ name }) => name);
    };
    for (const [visibility, partition] of [
      ['private', 'dataset_search_private'],
      ['public', 'dataset_search_community'],
      ['protected', 'dataset_search_community'],
      ['private', 'dataset_search_private'],
    ] as const) {
      await db.query('update dataset set visibility = $2 where dataset_id = $1', [id, visibility]);
      t.equal(await found('community'), visibility === 'private' ? 0 : 1, `${visibility}: community`);
      t.equal(await found('owned'), 1, `${visibility}: own`);
      t.strictSame(await partitions(), [partition], visibility);
    }
  },
);

t.test('a listing of thousands', async (t) => {
  const { owner, recipient } = await fill(t);

  t.test('comes whole and in order', async (t) => {
    const seen: number[] = [];
    for await (const item of queries.list({ viewer: owner, ownership: 'owned', target: PLASMO }, signal)) {
      seen.push(item.fileCount);
      if (seen.length === 1) t.equal(item.installs.length, 2);
    }
    t.same(
      seen,
      Array.from({ length: 1_000 }, (_, n) => 6 * (n + 1)),
    );
  });

  t.test(
    'comes whole however many pages it takes, from an offset to a limit, also where times are equal',
    async (t) => {
      await db.query(`update dataset set created = '2020-01-01' where dataset_id like 'bulk%0'`);
      const of = async (filter: Omit<ListFilter, 'viewer' | 'ownership'>, ownership: 'any' | 'owned' = 'any') => {
        const ids: string[] = [];
        for await (const item of queries.list({ viewer: owner, ownership, ...filter }, signal)) ids.push(item.dataset);
        return ids;
      };
      const all = await of({});
      t.equal(new Set(all).size, 1_000);
      const expected = await db.query<{ dataset_id: string }>(
        'select dataset_id from dataset where owner_id = $1::numeric order by created desc, dataset_id',
        [owner],
      );
      t.strictSame(
        all,
        expected.map((row) => row.dataset_id),
      );
      t.strictSame(await of({ offset: 250, limit: 230 }), all.slice(250, 480));
      t.strictSame(await of({ offset: 995 }, 'owned'), all.slice(995));
      t.strictSame(await of({ limit: 0 }), []);
    },
  );

  t.test('holds no connection while it is read', async (t) => {
    const held: AsyncIterator<unknown>[] = [];
    // More readers than the pool has connections, each stopped after its first dataset.
    for (let reader = 0; reader < 10; reader++) {
      const list = queries.list({ viewer: recipient, ownership: 'shared' }, signal)[Symbol.asyncIterator]();
      held.push(list);
      t.match(await list.next(), { done: false });
    }
    for (const list of held) await list.return?.();
  });

  t.test('stops when the signal aborts', async (t) => {
    const stop = new AbortController();
    let seen = 0;
    await t.rejects(
      async () => {
        for await (const _ of queries.list({ viewer: owner, ownership: 'any' }, stop.signal))
          if (++seen === 10) stop.abort();
      },
      { name: 'AbortError' },
    );
    t.ok(seen < 1_000);
  });

  t.test('is one query on indexes', async (t) => {
    for (const ownership of ['owned', 'shared', 'any', 'community'] as const) {
      const next = { created_text: '2026-01-01', dataset_id: 'bulk6' as DatasetId };
      for (const target of [{}, { target: PLASMO }])
        for (const after of [undefined, next]) {
          const plan = await explain(listStatement({ viewer: owner, ownership, limit: 100, ...target }, after));
          t.notMatch(plan, /Seq Scan on (dataset|install_status|dataset_share)\b/, `${ownership}\n${plan}`);
        }
    }
    t.match(await explain(listStatement({ viewer: owner, ownership: 'owned', limit: 100 })), /dataset_owned/);
  });

  t.test('offers are found by index', async (t) => {
    const few = newUser();
    await db.query(
      `insert into dataset_share select dataset_id, case when n <= 10 then $1::numeric else n end, 'grant', 'accept'
       from (select dataset_id, row_number() over () as n from dataset where dataset_id like 'bulk%') d`,
      [few],
    );
    await db.query('vacuum (analyze)');
    const recorded = recordingSql(db);
    const offers = new PostgresDatasetQueries(recorded).offers({ recipient: few, status: 'accepted' }, signal);
    t.equal((await Array.fromAsync(offers)).length, 10);
    for (const plan of await plansOf(db, recorded.statements))
      t.notMatch(plan, /Seq Scan on (dataset|dataset_share)\b/, plan);
  });

  t.test('related datasets are found by index', async (t) => {
    const publications = [{ identifier: '1', type: 'pmid', isPrimary: true }] as const;
    const metadata = metadataOf(owner, { projectName: 'project 6', publications });
    const statement = relatedStatement('bulk6' as DatasetId, metadata, owner);
    const plan = await explain(statement);
    t.notMatch(plan, /Seq Scan on dataset\b/, plan);
    t.equal((await queries.related('bulk6' as DatasetId, metadata, owner, signal)).length, 1);
    const kept = await explain({ ...statement, values: [] }, '(generic_plan)');
    t.notMatch(kept, /Seq Scan on dataset\b/, `the plan that a connection keeps\n${kept}`);
  });
});
