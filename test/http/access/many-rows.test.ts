// Every request of the service over a million access requests for ten thousand datasets: by the plans of its statements,
// and by what the database counted, no table was read from end to end.

import type pg from 'pg';
import t from 'tap';
import type { Sql } from '../../../engine/adapters/postgres/postgres.ts';
import {
  CURATED,
  FIRST_OF_FIRST,
  FIRST_PROVIDER,
  FIRST_STAFF,
  FIRST_USER,
  fillAccess,
  fillAccounts,
} from '../../support/many-end-users.ts';
import { plansOf, recordStatements } from '../../support/statement-plans.ts';
import { ADMIN_TOKEN, accessApp, replace, TEXTS } from './access-app.ts';

const OWNER = String(FIRST_STAFF);
const MANAGER = String(FIRST_PROVIDER + 7);
const PROVIDER = String(FIRST_PROVIDER + CURATED + 7);
/** Has requests for Many1 to Many9. */
const USER = String(FIRST_USER);
const STRANGER = '77';
const NEWCOMER = '78';
const BODY = { ...TEXTS, datasetId: 'Many7' };

const ended = async <Result>(client: pg.Client, work: (sql: Sql) => Promise<Result>): Promise<Result> => {
  try {
    return await work({ query: async (text, values) => (await client.query(text, values as unknown[])).rows });
  } finally {
    await client.end();
  }
};

/** A page of a list is counted in rows and bytes as it is read. */
const OVER_A_PAGE = /\b(?:count|sum)\s*\((?:[^()]|\([^()]*\))*\)\s*over\b/gi;

t.test('no request reads a table from end to end, and none counts rows', async (t) => {
  const app = await accessApp(t);
  // On connections of their own: their end is when what they read has been counted.
  await ended(await app.db.dedicated(), async (sql) => {
    await sql.query('begin');
    await fillAccess((work) => work(sql));
    await sql.query('commit');
    await sql.query('vacuum (analyze)');
  });
  await ended(await app.cache.dedicated(), async (sql) => {
    await fillAccounts(sql);
    await sql.query('vacuum (analyze)');
  });
  const watch = await app.db.dedicated();
  t.teardown(() => watch.end());
  const scans = async (): Promise<Record<string, number>> => {
    const { rows } = await watch.query<{ name: string; scans: number }>(
      `select schemaname || '.' || relname as name, seq_scan as scans from pg_stat_user_tables order by 1`,
    );
    return Object.fromEntries(rows.map((row) => [row.name, Number(row.scans)]));
  };
  const before = await scans();
  const statements = { access: recordStatements(app.db), cache: recordStatements(app.cache) };

  const called = new Set<string>();
  const asks = async (who: string | undefined, method: string, path: string, expected: number, body?: unknown) => {
    const headers = who === undefined ? { 'admin-token': ADMIN_TOKEN } : {};
    const { status, body: got } = await app.call(who, method, path, body, headers);
    if (status !== expected) throw new Error(`${method} ${path} by ${who}: ${status} ${JSON.stringify(got)}`);
    const route = app.routes.find(
      (one) =>
        one.method === method &&
        new RegExp(`^${one.path.replaceAll(/:\w+/g, '[^/]+')}$`).test(path.split('?')[0] ?? ''),
    );
    called.add(`${method} ${route?.path}`);
    return got as Record<string, unknown>;
  };

  // Twice: by then connections may keep plans that were made without the values.
  for (let round = 0; round < 2; round++) {
    for (const query of ['', '?limit=5000', '?limit=100&offset=9000']) await asks(OWNER, 'GET', `/staff${query}`, 200);
    await asks(STRANGER, 'GET', '/staff', 403);
    const { staffId } = await asks(undefined, 'POST', '/staff', 200, { userId: 90 + round, isOwner: false });
    await asks(OWNER, 'POST', '/staff', 409, { userId: 90 + round, isOwner: false });
    await asks(OWNER, 'PATCH', `/staff/${staffId}`, 204, [replace('/isOwner', true)]);
    await asks(OWNER, 'DELETE', `/staff/${staffId}`, 204);

    for (const who of [OWNER, MANAGER, PROVIDER])
      await asks(who, 'GET', '/dataset-providers?datasetId=Many7&offset=1', 200);
    const provider = { datasetId: 'Many7', isManager: false };
    const { providerId } = await asks(MANAGER, 'POST', '/dataset-providers', 200, {
      ...provider,
      email: 'n5@many.example',
    });
    await asks(MANAGER, 'POST', '/dataset-providers', 409, { ...provider, userId: FIRST_USER + 5 });
    await asks(MANAGER, 'POST', '/dataset-providers', 200, { ...provider, email: `new${round}@many.example` });
    await asks(MANAGER, 'POST', '/dataset-providers', 429, { ...provider, email: 'nobody5@many.example' });
    await asks(MANAGER, 'PATCH', `/dataset-providers/${providerId}`, 204, [replace('/isManager', true)]);
    await asks(MANAGER, 'DELETE', `/dataset-providers/${providerId}`, 204);

    for (const status of [
      '',
      '&approval=requested',
      '&approval=approved',
      '&approval=denied',
      '&approval=unrequested',
    ]) {
      for (const [who, dataset] of [
        [OWNER, 'Many7'],
        [MANAGER, 'Many7'],
        [OWNER, 'Many0'],
      ] as const)
        await asks(who, 'GET', `/dataset-end-users?datasetId=${dataset}${status}`, 200);
      await asks(OWNER, 'GET', `/dataset-end-users?datasetId=Many0&offset=9950&limit=250${status}`, 200);
      await asks(OWNER, 'GET', `/dataset-end-users?limit=250&offset=90000${status}`, 200);
    }
    const last = await asks(OWNER, 'GET', '/dataset-end-users?limit=250&offset=900000', 200);
    t.match(last, { rows: 250, offset: 900_000, total: 1_000_000 - round });
    for (const who of [OWNER, MANAGER, USER]) await asks(who, 'GET', `/dataset-end-users/${USER}-Many7`, 200);
    await asks(OWNER, 'GET', '/dataset-end-users/5-Many7', 404);
    await asks(NEWCOMER, 'POST', '/dataset-end-users', 200, { ...BODY, userId: Number(NEWCOMER) });
    await asks(NEWCOMER, 'POST', '/dataset-end-users', 409, { ...BODY, userId: Number(NEWCOMER) });
    await asks(MANAGER, 'POST', '/dataset-end-users', 409, { ...BODY, email: 'n1111@many.example' });
    await asks(MANAGER, 'POST', '/dataset-end-users', 200, { ...BODY, email: `newer${round}@many.example` });
    await asks(NEWCOMER, 'PATCH', `/dataset-end-users/${NEWCOMER}-Many7`, 204, [replace('/purpose', `Round ${round}`)]);
    await asks(MANAGER, 'PATCH', `/dataset-end-users/${NEWCOMER}-Many7`, 204, [replace('/approvalStatus', 'approved')]);
    await asks(MANAGER, 'DELETE', `/dataset-end-users/${NEWCOMER}-Many7`, 204);
    await asks(OWNER, 'DELETE', `/dataset-end-users/${FIRST_OF_FIRST + round}-Many0`, 204);

    for (const who of [OWNER, MANAGER, PROVIDER, USER, STRANGER, 'guest-5']) {
      await asks(who, 'GET', '/permissions', 200);
      const all = await asks(who, 'GET', '/permissions?all=true', 200);
      t.ok(Object.keys(all.perDataset as object).length >= CURATED, 'the whole catalogue');
      for (const study of ['S-Many7', 'Many7', 'S-Many0', 'study5'])
        await asks(who, 'GET', `/permissions/${study}`, 200);
      await asks(who, 'GET', '/permissions/none', 404);
    }
    for (const who of [OWNER, MANAGER, USER])
      for (const query of ['?limit=100', '?limit=5&offset=3', '?limit=100&offset=40000'])
        await asks(who, 'GET', `/history${query}`, 200);
    await asks(undefined, 'POST', '/approve-eligible-access-requests', 204);
    await asks(undefined, 'GET', '/health', 200);
  }
  t.strictSame([...called].sort(), app.routes.map(({ method, path }) => `${method} ${path}`).sort(), 'all routes');

  const everything = [
    { db: app.db, ran: statements.access.filter(({ text }) => !/^lock table/.test(text)) },
    { db: app.cache, ran: [...statements.cache] },
  ];
  for (const { db, ran } of everything) {
    t.ok(ran.length > 100, `${ran.length} statements were seen`);
    for (const { text } of ran) t.notMatch(text.replaceAll(OVER_A_PAGE, ''), /\b(count|sum)\s*\(/i);
    for (const plan of new Set(await plansOf(db, ran))) t.notMatch(plan, /Seq Scan/);
  }
  await app.cache[Symbol.asyncDispose]();
  await app.db[Symbol.asyncDispose]();
  t.strictSame(await scans(), before, 'also in triggers and the checks of references');
});
