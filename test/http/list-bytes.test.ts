// Answers that list: which there are in all services, and that none of them brings more than a page of bounded bytes into
// memory at a time.

import t from 'tap';
import type { Postgres, Sql } from '../../engine/adapters/postgres/postgres.ts';
import { boundedPage, type PageRow } from '../../engine/adapters/postgres/row-pages.ts';
import { accessApp, never } from './access/access-app.ts';
import { SERVICES } from './services.ts';

/** How much of a list is in memory. A route that is added here or elsewhere has to say it. */
const LISTS: Readonly<Record<string, 'pages of bounded bytes' | 'one record' | 'a bounded count' | 'configuration'>> = {
  listDatasets: 'pages of bounded bytes',
  listCommunityDatasets: 'pages of bounded bytes',
  listShareOffers: 'pages of bounded bytes',
  reportDatasets: 'pages of bounded bytes',
  reportFailedImports: 'pages of bounded bytes',
  reportFailedInstalls: 'pages of bounded bytes',
  readAudit: 'pages of bounded bytes',
  readDatasetHistory: 'pages of bounded bytes',
  listProblems: 'pages of bounded bytes',
  listStaff: 'pages of bounded bytes',
  listProviders: 'pages of bounded bytes',
  listEndUsers: 'pages of bounded bytes',
  getPermissions: 'pages of bounded bytes',
  getHistory: 'pages of bounded bytes',
  listReportJobs: 'pages of bounded bytes',
  listReportFiles: 'pages of bounded bytes',
  listBrokenReportJobs: 'pages of bounded bytes',
  // Has as many files as an archive may have entries.
  listDatasetFiles: 'one record',
  getDataset: 'one record',
  getStoredMetadata: 'one record',
  reportDataset: 'one record',
  getReportJob: 'one record',
  getWebhook: 'one record',
  getNotifications: 'one record',
  patchNotifications: 'one record',
  patchWebhook: 'one record',
  getJobStatus: 'one record',
  installData: 'one record',
  installFiles: 'one record',
  reportJobs: 'a bounded count',
  listProblemCauses: 'a bounded count',
  retryProblems: 'a bounded count',
  discardProblems: 'a bounded count',
  listResumableUploads: 'a bounded count',
  listWebhooks: 'a bounded count',
  listWebhookDeliveries: 'a bounded count',
  followEvents: 'a bounded count',
  followDataset: 'a bounded count',
  readMetricsHistory: 'a bounded count',
  readLog: 'a bounded count',
  getReportStatuses: 'a bounded count',
  reportReconciliation: 'a bounded count',
  getConsoleSettings: 'configuration',
  listPlugins: 'configuration',
  getServiceMeta: 'configuration',
  reloadConfiguration: 'configuration',
  compareConfiguration: 'configuration',
  showConfiguration: 'configuration',
  sizeLane: 'configuration',
  getConfig: 'configuration',
  getHealth: 'configuration',
  listPauses: 'configuration',
};

t.test('each answer with a list says how much of it is in memory', async (t) => {
  const known = new Set<string>();
  for (const [service, app] of Object.entries(SERVICES))
    await t.test(service, async (t) => {
      for (const { operationId, responses } of (await app(t)).routes) {
        if (!hasList((responses[200] as { schema?: object } | undefined)?.schema)) continue;
        known.add(operationId);
        t.ok(LISTS[operationId], operationId);
      }
    });
  t.strictSame(
    Object.keys(LISTS).filter((operation) => !known.has(operation)),
    [],
    'there are no others',
  );
});

function hasList(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { type, additionalProperties, patternProperties } = schema as Record<string, unknown>;
  if (type === 'array' || typeof additionalProperties === 'object' || patternProperties) return true;
  return Object.values(schema).some(hasList);
}

/** A page of 256 KiB and one row more, as JSON. */
const AT_ONCE = 1024 * 1024;

/** The largest answer to a statement, as JSON, since it was last asked for. */
function largestResult(...databases: readonly Postgres[]): () => number {
  let largest = 0;
  for (const db of databases) {
    const { query } = db;
    const watched =
      (run: Sql['query']): Sql['query'] =>
      async (text, values, name) => {
        const rows = await run(text, values, name);
        largest = Math.max(largest, Buffer.byteLength(JSON.stringify(rows)));
        return rows as never;
      };
    db.query = watched(query.bind(db));
  }
  return () => {
    const bytes = largest;
    largest = 0;
    return bytes;
  };
}

const ROWS = { requests: 30, studies: 300, people: 12_000 };
const TEXT = 'repeat(chr(23383), 32768)';

/** Requests, studies and people of a site that is not small, with texts as long as may be. */
async function fill({ db, cache }: Awaited<ReturnType<typeof accessApp>>): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(`select set_config('longshore.cause_user', '0', true),
      set_config('longshore.cause_time', '2026-03-01T12:00:00Z', true)`);
    await sql.query(
      `insert into end_user (user_id, dataset_id, restriction_level, approval_status, start_date, duration, purpose,
         research_question, analysis_plan, dissemination_plan, prior_auth, denial_reason, requested_at)
       select n, 'private', 'private', 'requested', now(), -1, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, '', now()
       from generate_series(1000, 999 + $1::integer) n`,
      [ROWS.requests],
    );
    await sql.query(
      'insert into staff (user_id, is_owner) select n, false from generate_series(1000, 999 + $1::integer) n',
      [ROWS.people],
    );
    await sql.query(
      `insert into provider (user_id, dataset_id, is_manager)
       select n, 'private', false from generate_series(1000, 999 + $1::integer) n`,
      [ROWS.people],
    );
  }, never);
  await cache.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, upload_status, import_status)
     select 'D' || n, 1, 'D' || n, 0, 'live', 'genelist', '1.0', jsonb_build_object('summary', repeat(chr(23383), 4000)),
       'private', 'Study', 'success', 'complete'
     from generate_series(1, $1::integer) n`,
    [ROWS.studies],
  );
  await cache.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     select dataset_id, 'AlphaDB', kind, 'complete' from dataset, unnest('{meta,data}'::text[]) kind`,
  );
}

t.test('access service: a list is read in statements of bounded bytes, and is whole', async (t) => {
  const app = await accessApp(t);
  await fill(app);
  const largest = largestResult(app.db, app.cache);
  const lengths: Readonly<Record<string, (body: unknown) => number>> = {
    '/history': (body) => (body as { results: unknown[] }).results.length,
    '/dataset-end-users?datasetId=private': (body) => (body as { data: unknown[] }).data.length,
    '/staff?limit=10000': (body) => (body as { data: unknown[] }).data.length,
    '/dataset-providers?datasetId=private&limit=10000': (body) => (body as { data: unknown[] }).data.length,
    '/permissions': (body) => Object.keys((body as { perDataset: object }).perDataset).length,
  };
  const wanted = [ROWS.requests, ROWS.requests, 10_000, 10_000, ROWS.studies];
  for (const [i, [path, lengthOf]] of Object.entries(lengths).entries()) {
    largest();
    const { status, body } = await app.call('1', 'GET', path);
    t.equal(status, 200, path);
    t.equal(lengthOf(body), wanted[i], `${path} is whole`);
    t.ok(Buffer.byteLength(JSON.stringify(body)) > AT_ONCE, `${path} is more than may be in memory`);
    const bytes = largest();
    t.ok(bytes > 0 && bytes <= AT_ONCE, `${path}: at most ${bytes} bytes at once`);
  }
});

t.test('rows that the database packs well count as what they are', async (t) => {
  const { cache } = await accessApp(t);
  await cache.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, upload_status, import_status)
     select 'D' || n, 1, 'D' || n, 0, 'live', 'genelist', '1.0', jsonb_build_object('summary', repeat('x', 300000)),
       'private', 'Study', 'success', 'complete'
     from generate_series(1, $1::integer) n`,
    [ROWS.requests],
  );
  const rows = await cache.query<PageRow>(
    boundedPage('select dataset_id, metadata from dataset order by dataset_id limit $1::integer'),
    [ROWS.requests],
  );
  t.strictSame([rows.length, rows[0]?.page_rows], [1, ROWS.requests]);
  t.ok((rows[0]?.row_bytes ?? 0) > 300_000);
});
