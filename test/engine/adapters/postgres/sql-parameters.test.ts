// What people send never becomes part of a statement. Each test sends text that would break out of one, through a proxy
// that records the statements, and reads it back unchanged.

import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import {
  cacheMigrations,
  controlMigrations,
  type Migration,
  migrate,
} from '../../../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import { PostgresInstallTarget } from '../../../../engine/adapters/sites/install-target-postgres.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { at as after, claim, failed, requestOf, rulesAt, userOf } from '../../../conformance/report-world.ts';
import { accessApp, asks, enters, replace, serveAccess, TEXTS } from '../../../http/access/access-app.ts';
import { INSTALL_TARGETS, soundDetails } from '../../../http/installer/installation.ts';
import { ADMIN_TOKEN, detailsPart, form, installerApp, post } from '../../../http/installer/installer-app.ts';
import { imported } from '../../../http/installer/stored-datasets.ts';
import { grantLease } from '../../../support/cache-database.ts';
import { testDatabase } from '../../../support/database.ts';
import { fullMetadataOf, newAddress, newUser, PLASMO } from '../../../support/dataset-samples.ts';
import { type PostgresProxy, postgresProxy } from '../../../support/postgres-proxy.ts';
import { reportDatabase, reportProcess } from '../../../support/report-database.ts';

const signal = new AbortController().signal;
/** Ends a text, an identifier and a statement of SQL, and looks like a parameter. */
const EVIL = `planted'"\\;--$1 $$ %s`;
/** The same, as far as a file may be called so. */
const EVIL_NAME = `planted'";--$1.txt`;

/** A schema with its tables, behind a proxy that records the statements. */
async function setup(t: Test, schema: string, migrations: readonly Migration[]) {
  const at = await testDatabase(t);
  const line = await postgresProxy(t, at);
  const db = new Postgres(
    { ...at, port: line.port, schema, poolSize: 4, idleTimeoutMs: 1_000, applicationName: 'test' },
    silentLogger(),
  );
  t.teardown(() => db[Symbol.asyncDispose]());
  await migrate(db, schema, migrations, signal);
  line.watch();
  return { db, line };
}

function areClean(t: Test, line: PostgresProxy, atLeast: number): void {
  t.strictSame(
    line.statements.filter((text) => text.includes('planted')),
    [],
  );
  t.ok(line.statements.length >= atLeast, `${line.statements.length} statements`);
}

t.test('what users send to the installer reaches SQL as parameters', async (t) => {
  const { db, line } = await setup(t, 'cache', await cacheMigrations());
  const app = await installerApp(t, db, { settings: { installTargets: INSTALL_TARGETS } });
  const owner = newUser();
  const texts = { name: EVIL, summary: EVIL, description: EVIL, projectName: EVIL, programName: EVIL };
  const uploaded = await post(app, owner, detailsPart({ ...soundDetails(), ...texts }), ['dataFile', 'A1', EVIL_NAME]);
  t.equal(uploaded.status, 202, uploaded.text);
  const { datasetId } = uploaded.body as { readonly datasetId: string };
  t.match((await app.call(owner, 'GET', `/datasets/${datasetId}`)).body, texts);

  const at = await imported(app, db, owner);
  const path = `/datasets/${at.dataset}`;
  const json = { 'content-type': 'application/json' };
  const changes = Object.fromEntries(Object.keys(texts).map((key) => [key, { value: EVIL }]));
  const patched = await app.call(owner, 'PATCH', path, { headers: json, body: JSON.stringify(changes) });
  t.equal(patched.status, 204, patched.text);
  const put = await app.call(owner, 'PUT', `${path}/files/documents/${encodeURIComponent(EVIL_NAME)}`, {
    headers: { 'content-type': 'application/octet-stream' },
    body: 'x',
  });
  t.equal(put.status, 204, put.text);
  t.match((await app.call(owner, 'GET', `${path}/files`)).text, JSON.stringify(EVIL_NAME).slice(1, -1));
  const revision = { origin: 'direct-upload', revisionNote: EVIL };
  const revised = await app.call(owner, 'PUT', path, {
    body: form(detailsPart(revision), ['dataFile', 'A2', 'a.txt']),
  });
  t.equal(revised.status, 202, revised.text);
  // Relatives are found by the name of the project.
  t.match((await app.call(owner, 'GET', path)).body, { ...texts, relatedDatasets: [{ datasetId }] });
  for (const query of ['', `?install_target=${encodeURIComponent(EVIL)}`, `?ownership=${encodeURIComponent(EVIL)}`])
    await app.call(owner, 'GET', `/datasets${query}`);
  for (const report of ['datasets/list-all', `datasets/${encodeURIComponent(EVIL)}`, 'imports/failed'])
    await app.call(undefined, 'GET', `/admin/reports/${report}?install_target=${encodeURIComponent(EVIL)}`, {
      headers: { 'admin-token': ADMIN_TOKEN },
    });
  areClean(t, line, 20);
});

t.test('what lanes write to the cache and to a target reaches SQL as parameters', async (t) => {
  const at = newAddress();
  const metadata = { ...fullMetadataOf(at.owner, at.dataset), ...planted(fullMetadataOf(at.owner, at.dataset)) };
  const cache = await setup(t, 'cache', await cacheMigrations());
  const catalog = new PostgresCatalog(cache.db);
  const lease = await grantLease(cache.db, at.dataset);
  const files = [{ name: EVIL, size: 1 }];
  await catalog.register(at, metadata, [{ set: 'uploadFiles', files }], lease, signal);
  await catalog.write(
    at.dataset,
    lease,
    [
      { set: 'upload', status: 'success', message: EVIL },
      { set: 'import', status: 'complete', messages: [EVIL] },
      { set: 'install', target: PLASMO, kind: 'data', status: 'failed-validation', messages: [EVIL] },
      { set: 'installFiles', files },
    ],
    signal,
  );
  t.match(await catalog.find(at.dataset, signal), {
    metadata,
    import: { messages: [EVIL] },
    installs: [{ messages: [EVIL] }],
  });
  areClean(t, cache.line, 3);

  const control = await setup(t, 'control', await controlMigrations());
  const target = new PostgresInstallTarget(control.db, {
    id: PLASMO,
    displayName: 'Plasmo',
    schema: 'control',
    dataSchema: 'plasmo',
  });
  await target.write(at.dataset, { document: { ...at, metadata, category: EVIL, showVisibility: true } }, 1, signal);
  await target.write(at.dataset, { messages: { data: { status: 'failed-validation', message: EVIL } } }, 1, signal);
  t.match(await target.state(at.dataset, signal), { messages: { data: { message: EVIL } } });
  t.match(await control.db.query('select name, description from control.dataset_meta'), [
    { name: EVIL, description: EVIL },
  ]);
  areClean(t, control.line, 3);
});

t.test('what people send to dataset access reaches SQL as parameters', async (t) => {
  const healthy = await accessApp(t);
  const line = await postgresProxy(t, healthy.at);
  const app = await serveAccess(t, { ...healthy.at, port: line.port }, healthy.clock);
  line.watch();
  t.equal((await asks(app, 30, 'private')).status, 200);
  for (const path of ['/purpose', '/researchQuestion', '/analysisPlan', '/disseminationPlan', '/priorAuth'])
    t.equal((await app.call('30', 'PATCH', '/dataset-end-users/30-private', [replace(path, EVIL)])).status, 204, path);
  const denied = [replace('/denialReason', EVIL), replace('/approvalStatus', 'denied')];
  t.equal((await app.call('2', 'PATCH', '/dataset-end-users/30-private', denied)).status, 204);
  t.match((await app.call('30', 'GET', '/dataset-end-users/30-private')).body, { purpose: EVIL, denialReason: EVIL });
  await enters(app, 31, 'private', { purpose: EVIL });
  const stranger = { ...TEXTS, datasetId: 'private', email: `planted'"--@lab.example` };
  await app.call('1', 'POST', '/dataset-end-users', stranger);
  for (const path of ['/dataset-end-users', '/dataset-providers'])
    await app.call('1', 'GET', `${path}?datasetId=${encodeURIComponent(EVIL)}`);
  await app.call('30', 'GET', `/permissions/${encodeURIComponent(EVIL)}`);
  t.match((await app.call('1', 'GET', '/history')).body, { results: Array });
  areClean(t, line, 20);
});

t.test('notes, filters and output of reports reach SQL as parameters', async (t) => {
  const at = await reportDatabase(t);
  const line = await postgresProxy(t, at);
  const process = await reportProcess(t, { ...at, port: line.port });
  line.watch();
  const [user, request] = [userOf(1), { ...requestOf(1), fingerprint: EVIL }];
  await process.jobs.submit(request, { user, meta: { summary: EVIL, description: EVIL } }, rulesAt(0), signal);
  const outcome = { ...failed(0), reason: EVIL, stderr: EVIL } as const;
  const [claimed] = await claim(process, 0);
  if (claimed) await process.queue.completeAndFetch([{ claim: claimed, outcome }], { limit: 0 }, after(0), signal);
  t.equal(await process.jobs.stderr(request.id, signal), EVIL);
  await process.collections.annotate(user, request.id, { summary: `${EVIL}!` }, signal);
  const meta = { summary: `${EVIL}!`, description: EVIL };
  t.match(await Array.fromAsync(process.collections.list(user, {}, signal)), [{ meta }]);
  const none = process.collections.list(user, { queryId: EVIL as typeof request.queryId }, signal);
  t.strictSame(await Array.fromAsync(none), []);
  areClean(t, line, 5);
});

/** Every text of the document that is nobody's word but the user's. */
function planted(metadata: ReturnType<typeof fullMetadataOf>): object {
  const { description, summary, name, projectName, programName, shortAttribution, dataDisclaimer } = metadata;
  const own = { description, summary, name, projectName, programName, shortAttribution, dataDisclaimer };
  const deep = { contacts: metadata.contacts, funding: metadata.funding, publications: metadata.publications };
  const more = { dependencies: metadata.dependencies, datasetCharacteristics: metadata.datasetCharacteristics };
  return everyText({ ...own, ...deep, ...more }) as object;
}

function everyText(value: unknown): unknown {
  if (typeof value === 'string') return EVIL;
  if (Array.isArray(value)) return value.map(everyText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, everyText(item)]));
}
