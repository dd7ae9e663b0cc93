// What time does to jobs.

import t from 'tap';
import { reportFileKey } from '../../../engine/model/report/report-job.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { REASON, RETENTION_MS, RETRY_AFTER_MS, type ReportApp, reportApp } from './report-app.ts';

/** A new job that is complete. */
async function finished(app: ReportApp): Promise<string> {
  const id = await app.create('1', app.query());
  await app.complete();
  return id;
}

t.test('a failed job runs again when it is asked for after a while, and not before', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const id = await app.create('1', query);
  await app.fail();
  await app.clock.advance(RETRY_AFTER_MS - 1);
  t.equal(await app.create('2', query), id);
  t.equal(await app.statusOf(id), 'failed');
  t.equal((await app.call('1', 'POST', `/jobs/${id}`)).status, 403, 'it has not expired');
  await app.clock.advance(1);
  t.equal(await app.create('2', query), id);
  t.equal(await app.statusOf(id), 'queued');
  t.equal((await app.call('1', 'GET', `/jobs/${id}/stderr`)).status, 403, 'what was said before is gone');
  await app.complete();
  t.equal(await app.statusOf(id), 'complete');
});

t.test('a job expires so long after the last access, with its files, and keeps its configuration', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query(), { blastConfig: { formatType: 'csv' }, userMeta: { summary: 'mine' } });
  await app.complete({ 'report.csv': 'a,b\n', 'report.zip': 'PK' });
  const before = (await app.call('1', 'GET', `/jobs/${id}`)).body as object;
  await app.clock.advance(RETENTION_MS - 1);
  t.strictSame(await app.sweep(), { expired: 0, cleaned: 0 });
  t.equal((await app.call('2', 'GET', `/jobs/${id}/files`)).status, 200, 'an access of anybody');
  await app.clock.advance(RETENTION_MS - 1);
  t.strictSame(await app.sweep(), { expired: 0, cleaned: 0 });
  await app.clock.advance(1);
  t.strictSame(await app.sweep(), { expired: 1, cleaned: 1 });
  t.equal(app.store.text(reportFileKey(id, 1, 'report.csv')), undefined);
  t.strictSame((await app.call('1', 'GET', `/jobs/${id}`)).body, { ...before, status: 'expired' });
  for (const path of ['files', 'files/report.csv', 'files/report.zip', 'stderr'])
    t.match(await app.call('1', 'GET', `/jobs/${id}/${path}`), { status: 403, body: { status: 'forbidden' } }, path);
});

t.test('each kind of access keeps a job, and being listed or asked for by status does not', async (t) => {
  const app = await reportApp(t);
  const accesses: Readonly<Record<string, (id: string, query: string) => Promise<unknown>>> = {
    details: (id) => app.call('2', 'GET', `/jobs/${id}?save_job=false`),
    files: (id) => app.call('2', 'GET', `/jobs/${id}/files`),
    file: (id) => app.call('2', 'GET', `/jobs/${id}/files/report.txt`),
    stderr: (id) => app.call('2', 'GET', `/jobs/${id}/stderr`),
    request: (_, query) => app.create('2', query),
  };
  const others: typeof accesses = {
    list: () => app.call('1', 'GET', '/jobs'),
    statuses: (id) => app.call('1', 'POST', '/statuses', [id]),
    notes: (id) => app.call('1', 'PATCH', `/jobs/${id}`, { userMeta: { summary: 'x' } }),
  };
  for (const [name, access] of Object.entries({ ...accesses, ...others })) {
    const query = app.query();
    const id = await app.create('1', query);
    await app.complete();
    await app.clock.advance(RETENTION_MS / 2);
    await access(id, query);
    await app.clock.advance(RETENTION_MS / 2);
    const { expired } = await app.sweep();
    t.equal(expired, name in accesses ? 0 : 1, name);
    await app.call('admin', 'DELETE', '/maintenance/cache');
  }
});

t.test('an expired job is queued again by anybody who has its id, and no other is', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query());
  const requeue = (user = '2') => app.call(user, 'POST', `/jobs/${id}`);
  t.match(await requeue(), { status: 403, body: { status: 'forbidden' } }, 'queued');
  await app.complete();
  t.equal((await requeue()).status, 403, 'complete');
  await app.clock.advance(RETENTION_MS);
  await app.sweep();
  t.equal(await app.statusOf(id), 'expired');
  await app.clock.advance(RETENTION_MS);
  const answers = await Promise.all([requeue('2'), requeue('guest-3'), requeue('2')]);
  t.strictSame(answers.map(({ status }) => status).sort(), [204, 403, 403]);
  t.strictSame((await app.call('2', 'GET', '/jobs')).body, [], 'it is in no further collection');
  t.equal(await app.statusOf(id), 'queued');
  await app.complete({ 'report.txt': 'again', 'report.zip': 'PK' });
  t.equal((await app.call('1', 'GET', `/jobs/${id}/files/report.txt`)).text, 'again');
  t.equal((await requeue()).status, 403);
});

t.test('an expired job is queued again when it is asked for', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const id = await app.create('1', query);
  await app.fail();
  await app.clock.advance(RETENTION_MS);
  await app.sweep();
  t.equal(await app.statusOf(id), 'expired');
  t.equal(await app.create('1', query), id);
  t.equal(await app.statusOf(id), 'queued');
});

t.test('where too many wait, an expired job stays expired: 503', async (t) => {
  const app = await reportApp(t, { limits: { maxQueued: 1, maxQueuedPerUser: 9, retryAfterMs: 0 } });
  const id = await app.create('1', app.query());
  await app.complete();
  await app.call('admin', 'DELETE', `/maintenance/cache/${id}`);
  await app.create('1', app.query());
  const refused = await app.call('1', 'POST', `/jobs/${id}`);
  t.match(refused, { status: 503, body: { status: 'server-error' } });
  t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/);
  t.equal(await app.statusOf(id), 'expired');
});

t.test('a job that expires while its files are listed has none', async (t) => {
  const app = await reportApp(t);
  const ids = [await finished(app), await finished(app), await finished(app)];
  const read = app.jobs.read.bind(app.jobs);
  app.jobs.read = async (...args) => {
    const found = await read(...args);
    await app.expiry.expireOne(args[0], args[3]);
    return found;
  };
  for (const [i, path, status] of [
    [0, 'files', 403],
    [1, 'files/report.txt', 404],
    [2, 'stderr', 403],
  ] as const)
    t.equal((await app.call('1', 'GET', `/jobs/${ids[i]}/${path}`)).status, status, path);
});

t.test('while the store is away, a download is 503, and everything else goes on', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query());
  await app.complete();
  app.store.onCall = () => {
    throw transient('the object store is away', { unreachable: true });
  };
  t.equal((await app.call('1', 'GET', `/jobs/${id}/files/report.txt`)).status, 503);
  t.equal((await app.call('1', 'GET', `/jobs/${id}/files`)).status, 200);
  t.equal((await app.call('1', 'GET', `/jobs/${id}/stderr`)).text, 'Warning: odd\n');
});

t.test('the reason of a failure is the last line of what was said', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query());
  for (const path of ['stderr', 'files'])
    t.equal((await app.call('1', 'GET', `/jobs/${id}/${path}`)).status, 403, 'queued');
  await app.fail();
  const { status, text, headers } = await app.call('2', 'GET', `/jobs/${id}/stderr`);
  t.strictSame([status, text.trimEnd().split('\n').at(-1)], [200, REASON]);
  t.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
  t.equal((await app.call('1', 'GET', `/jobs/${id}/files`)).status, 403);
  t.equal((await app.call('1', 'GET', `/jobs/${id}/files/report.zip`)).status, 403);
});
