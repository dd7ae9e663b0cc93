import t from 'tap';
import { keysOf, type ReportApp, reportApp } from './report-app.ts';

const GUEST = 'guest-1';
const entry = (reportJobID: string, queryJobID: string, more: object = {}) => ({
  reportJobID,
  queryJobID,
  status: 'queued',
  ...more,
});
const listOf = async (app: ReportApp, user: string, query = '') =>
  (await app.call(user, 'GET', `/jobs${query}`)).body as { reportJobID: string }[];

t.test('a user sees the own jobs in every state, the newest first', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const failed = await app.create('1', query, { blastConfig: { formatType: 'csv' } });
  await app.fail();
  const complete = await app.create('1', query, { userMeta: { summary: 'Mine', description: 'a\nb' } });
  await app.complete();
  const running = await app.create('1', query, { blastConfig: { formatType: 'xml' } });
  await app.claim();
  const other = app.query();
  const queued = await app.create('1', other, { userMeta: { description: 'x' } });
  await app.create('2', query, { blastConfig: { formatType: 'sam' } });
  const mine = [
    entry(queued, other, { userMeta: { description: 'x' } }),
    entry(running, query, { status: 'in-progress' }),
    entry(complete, query, { status: 'complete', userMeta: { summary: 'Mine', description: 'a\nb' } }),
    entry(failed, query, { status: 'failed' }),
  ];
  t.strictSame(await listOf(app, '1'), mine);
  t.strictSame(await listOf(app, '1', `?query_job_id=${query}`), mine.slice(1));
  t.strictSame(await listOf(app, '3'), []);
});

t.test('the list of a query that is none is empty, and an unknown filter is 400', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  await app.create('1', query);
  for (const odd of ['x', '', '0'.repeat(32), '0'.repeat(33), `${query}%20`, '%25', "'; drop table collection"])
    t.strictSame(await listOf(app, '1', `?query_job_id=${odd}`), [], odd);
  for (const bad of ['?queryJobID=x', '?limit=1', `?query_job_id=${query}&query_job_id=${query}`])
    t.equal((await app.call('1', 'GET', `/jobs${bad}`)).status, 400);
});

t.test('thousands of jobs are listed whole, without one of them twice', async (t) => {
  const app = await reportApp(t);
  await app.db.query(
    `with job as (
       insert into report_job (id, query_id, configuration, fingerprint, created_at, run_at, accessed_at)
       select lpad(to_hex(n), 32, '0'), repeat('0', 32), '{}', 'f', $1, $1, $1 from generate_series(1, 4000) n
       returning id, query_id)
     insert into collection (user_id, report_id, query_id, description) select 1, id, query_id, repeat('x', 300) from job order by id`,
    [new Date(app.clock.now())],
  );
  const ids = (await listOf(app, '1')).map(({ reportJobID }) => Number.parseInt(reportJobID, 16));
  t.strictSame(
    ids,
    Array.from({ length: 4_000 }, (_, i) => 4_000 - i),
  );
});

t.test('a job that is asked for without the collection is in none', async (t) => {
  const app = await reportApp(t);
  const more = { addToUserCollection: false, userMeta: { summary: 'dropped' } };
  const id = await app.create('1', app.query(), more);
  t.strictSame(await listOf(app, '1'), []);
  t.equal((await app.call('1', 'PATCH', `/jobs/${id}`, {})).status, 404);
  t.equal((await app.call('1', 'DELETE', `/jobs/${id}`)).status, 404);
  t.notMatch((await app.call('1', 'GET', `/jobs/${id}`)).body, { userMeta: {} });
  t.equal((await listOf(app, '1')).length, 1, 'reading it puts it there');
});

t.test('a job that is asked for is put there, also by null and true', async (t) => {
  const app = await reportApp(t);
  for (const [i, addToUserCollection] of [null, true].entries()) {
    await app.create(String(i + 1), app.query(), { addToUserCollection, userMeta: null });
    t.equal((await listOf(app, String(i + 1))).length, 1);
  }
});

t.test('whoever has the id may read the job, and has it in the collection unless they say no', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const id = await app.create('1', query, { userMeta: { summary: 'of user 1' } });
  const shown = (await app.call('1', 'GET', `/jobs/${id}`)).body as Record<string, unknown>;
  t.match(shown, { userMeta: { summary: 'of user 1' } });
  const { userMeta, ...plain } = shown;
  t.ok(userMeta);
  for (const user of ['2', GUEST, 'admin']) {
    t.strictSame((await app.call(user, 'GET', `/jobs/${id}?save_job=false`)).body, plain, `${user} sees no notes`);
    if (user === 'admin') continue;
    t.strictSame(await listOf(app, user), []);
    t.equal((await app.call(user, 'GET', `/jobs/${id}?save_job=true`)).status, 200);
    t.strictSame(await listOf(app, user), [entry(id, query)]);
  }
  t.strictSame((await app.call('admin', 'GET', `/jobs/${id}`)).body, plain, 'the administrator collects nothing');
  t.equal((await app.call('3', 'GET', `/jobs/${id}`)).status, 200);
  t.equal((await listOf(app, '3')).length, 1, 'the default');
  t.strictSame(await listOf(app, '1'), [entry(id, query, { userMeta: { summary: 'of user 1' } })]);
  t.equal((await app.call('1', 'GET', `/jobs/${id}?save_job=maybe`)).status, 400);
});

t.test('what is no job is 404 everywhere, and reading it leaves nothing behind', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  for (const id of ['0'.repeat(32), 'x', '0'.repeat(31), '0'.repeat(33), query, '%00', '..%2f']) {
    for (const [method, path, body] of [
      ['GET', `/jobs/${id}`],
      ['PATCH', `/jobs/${id}`, {}],
      ['POST', `/jobs/${id}`],
      ['DELETE', `/jobs/${id}`],
      ['GET', `/jobs/${id}/files`],
      ['GET', `/jobs/${id}/files/report.txt`],
      ['GET', `/jobs/${id}/stderr`],
    ] as const) {
      const { status, body: problem } = await app.call('1', method, path, body);
      // The router refuses NUL before there is a route.
      if (id === '%00') t.ok(status === 404 || status === 400, `${method} ${path}: ${status}`);
      else t.match([status, problem], [404, { status: 'not-found' }], `${method} ${path}`);
    }
  }
  t.strictSame(await listOf(app, '1'), []);
});

t.test('asked for again, a job keeps its place and its notes but for those that are given', async (t) => {
  const app = await reportApp(t);
  const [query, other] = [app.query(), app.query()];
  const id = await app.create('1', query, { userMeta: { summary: 's', description: 'd' } });
  await app.create('1', other);
  const metas = async () => (await listOf(app, '1')).map((one) => ('userMeta' in one ? one.userMeta : undefined));
  for (const [userMeta, then] of [
    [undefined, { summary: 's', description: 'd' }],
    [null, { summary: 's', description: 'd' }],
    [
      { summary: 't', description: null },
      { summary: 't', description: 'd' },
    ],
    [{ description: '' }, { summary: 't', description: '' }],
  ]) {
    t.equal(await app.create('1', query, { userMeta }), id);
    t.strictSame(await metas(), [undefined, then]);
  }
  await app.create('1', query, { addToUserCollection: false, userMeta: { summary: 'no' } });
  t.strictSame(await metas(), [undefined, { summary: 't', description: '' }]);
});

t.test('notes are changed one by one, and null clears them', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query(), { userMeta: { summary: 's', description: 'd' } });
  const patch = async (body: object) => (await app.call('1', 'PATCH', `/jobs/${id}`, body)).status;
  const meta = async () => ((await app.call('1', 'GET', `/jobs/${id}`)).body as { userMeta?: object }).userMeta;
  for (const [body, then] of [
    [{}, { summary: 's', description: 'd' }],
    [{ userMeta: {} }, { summary: 's', description: 'd' }],
    [{ userMeta: { summary: 'x' } }, { summary: 'x', description: 'd' }],
    [{ userMeta: { summary: null } }, { description: 'd' }],
    [{ userMeta: { summary: '', description: 'e' } }, { summary: '', description: 'e' }],
    [{ userMeta: null }, undefined],
    [{ userMeta: { summary: 'ß'.repeat(512) } }, { summary: 'ß'.repeat(512) }],
  ] as const) {
    t.equal(await patch(body), 204);
    t.strictSame(await meta(), then, JSON.stringify(body).slice(0, 60));
  }
  for (const [body, keys] of [
    [{ userMeta: { summary: 'x'.repeat(513) } }, ['userMeta.summary']],
    [{ userMeta: { summary: 7, description: [] } }, ['userMeta.description', 'userMeta.summary']],
    [{ userMeta: 'text' }, ['userMeta']],
    [{ userMeta: { title: 'x' } }, ['userMeta.title']],
    [{ summary: 'x' }, ['summary']],
    [{ blastConfig: {} }, ['blastConfig']],
  ] as const)
    t.strictSame(keysOf(await app.call('1', 'PATCH', `/jobs/${id}`, body)), keys);
  t.strictSame(await meta(), { summary: 'ß'.repeat(512) });
  for (const body of [{}, { userMeta: { summary: 'x' } }])
    t.match(await app.call('2', 'PATCH', `/jobs/${id}`, body), { status: 404, body: { status: 'not-found' } });
});

t.test('a job that a user takes out stays for everybody else, and can come back', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query(), { userMeta: { summary: 'mine' } });
  for (const user of ['2', GUEST]) await app.call(user, 'GET', `/jobs/${id}`);
  await app.complete();
  t.equal((await app.call('1', 'DELETE', `/jobs/${id}`)).status, 204);
  t.match(await app.call('1', 'DELETE', `/jobs/${id}`), { status: 404, body: { status: 'not-found' } });
  t.strictSame(await listOf(app, '1'), []);
  for (const user of ['2', GUEST]) t.equal((await listOf(app, user)).length, 1);
  t.equal((await app.call('1', 'GET', `/jobs/${id}/files`)).status, 200, 'the files stay');
  t.strictSame(await listOf(app, '1'), [], 'files are read without the collection');
  await app.call('1', 'GET', `/jobs/${id}`);
  t.match(await listOf(app, '1'), [{ reportJobID: id, status: 'complete', userMeta: undefined }]);
});

t.test('guests ask for reports like users, and see nothing of the user of the same number', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const id = await app.create(GUEST, query, { userMeta: { summary: 'of the guest' } });
  t.equal(await app.create('1', query, { userMeta: { summary: 'of the user' } }), id);
  t.match(await listOf(app, GUEST), [{ userMeta: { summary: 'of the guest' } }]);
  t.match(await listOf(app, '1'), [{ userMeta: { summary: 'of the user' } }]);
  t.equal((await app.call('1', 'DELETE', `/jobs/${id}`)).status, 204);
  t.equal((await app.call(GUEST, 'PATCH', `/jobs/${id}`, { userMeta: { summary: null } })).status, 204);
  t.strictSame([await listOf(app, '1'), await listOf(app, GUEST)], [[], [entry(id, query)]]);
});
