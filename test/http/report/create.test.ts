import t from 'tap';
import { resolveConfig } from '../../../engine/model/report/blast-config.ts';
import { reportJobId } from '../../../engine/model/report/report-job.ts';
import { FINGERPRINT, faultsOf, keysOf, never, reportApp } from './report-app.ts';

t.test('a job is asked for with as little as a query job, and has the id that stands for its request', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const answer = await app.call('1', 'POST', '/jobs', { queryJobID: query });
  const id = reportJobId(resolveConfig({}), { id: query, fingerprint: FINGERPRINT });
  t.strictSame([answer.status, answer.body], [200, { reportJobID: id }]);
  t.strictSame((await app.call('1', 'GET', `/jobs/${id}`)).body, {
    reportJobID: id,
    queryJobID: query,
    status: 'queued',
    blastConfig: {
      formatType: 'pairwise',
      showGIs: false,
      numDescriptions: 500,
      numAlignments: 250,
      lineLength: 60,
      parseDefLines: false,
    },
  });
  const claim = await app.claim();
  t.strictSame([claim.id, claim.queryId, claim.fingerprint], [id, query, FINGERPRINT]);
});

t.test('ids of either case mean the same, and go out in lower case', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const id = await app.create('1', query.toUpperCase());
  t.equal(id, id.toLowerCase());
  t.equal(await app.create('1', query), id);
  t.match(await app.call('1', 'GET', `/jobs/${id.toUpperCase()}`), {
    status: 200,
    body: { reportJobID: id, queryJobID: query },
  });
  const paths = [`/jobs?query_job_id=${query.toUpperCase()}`, `/jobs?query_job_id=${query}`];
  for (const path of paths) t.match((await app.call('1', 'GET', path)).body, [{ reportJobID: id }]);
  await app.complete();
  t.equal((await app.call('1', 'GET', `/jobs/${id.toUpperCase()}/files`)).status, 200);
  t.equal((await app.call('1', 'DELETE', `/jobs/${id.toUpperCase()}`)).status, 204);
});

t.test('fifty identical requests at once, of many callers, are one job', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const config = { formatType: 'csv', formatFields: ['qseqid', 'evalue'] };
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      app.call(`${i % 2 ? '' : 'guest-'}${(i % 10) + 1}`, 'POST', '/jobs', { queryJobID: query, blastConfig: config }),
    ),
  );
  t.strictSame([...new Set(answers.map(({ status }) => status))], [200]);
  t.equal(new Set(answers.map(({ text }) => text)).size, 1);
  await app.complete();
  t.strictSame(
    await app.queue.completeAndFetch([], { limit: 10 }, new Date(app.clock.now()), never),
    [],
    'nothing else waits',
  );
  for (let n = 1; n <= 10; n++)
    t.match((await app.call(`${n % 2 ? 'guest-' : ''}${n}`, 'GET', '/jobs')).body, [{ status: 'complete' }]);
});

t.test('requests that come to the same report are the same job', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const id = await app.create('1', query);
  for (const blastConfig of [null, {}, { formatType: 'pairwise' }, { numAlignments: 250, lineLength: 60 }])
    t.equal(await app.create('1', query, { blastConfig }), id);
  for (const blastConfig of [{ numAlignments: 251 }, { formatType: 'xml' }, { showGIs: true }])
    t.not(await app.create('1', query, { blastConfig }), id);
  t.not(await app.create('1', app.query()), id);
});

t.test(
  'a body that is not a JSON object is 400, so is a large one, and one of another media type is 415',
  async (t) => {
    const app = await reportApp(t);
    const id = await app.create('1', app.query());
    for (const [method, path] of [
      ['POST', '/jobs'],
      ['PATCH', `/jobs/${id}`],
    ] as const) {
      for (const body of ['', '{', '{"queryJobID":', 'x', '[]', '"text"', '7', 'null', 'true', '{"__proto__": {}}'])
        t.match(await app.call('1', method, path, body), { status: 400, body: { status: 'bad-request' } }, body);
      t.equal((await app.call('1', method, path, '{}', { 'content-type': 'text/plain' })).status, 415);
      t.equal((await app.call('1', method, path)).status, 415, 'no body');
      t.equal((await app.call('1', method, path, `"${'x'.repeat(600_000)}"`)).status, 400);
    }
  },
);

t.test('a query job that is not there, not complete or no id is a fault of queryJobID', async (t) => {
  const app = await reportApp(t);
  const ask = (queryJobID: unknown) => app.call('1', 'POST', '/jobs', { queryJobID });
  t.strictSame(faultsOf(await app.call('1', 'POST', '/jobs', {})), { queryJobID: ['is missing; text is required'] });
  t.strictSame(faultsOf(await ask(null)), { queryJobID: ['is missing; text is required'] });
  t.strictSame(faultsOf(await ask('xyz')), { queryJobID: ["is 'xyz'; 32 hexadecimal digits are required"] });
  t.strictSame(faultsOf(await ask('0'.repeat(32))), { queryJobID: ['is no query job'] });
  for (const odd of [7, true, [], {}, '', `${'a'.repeat(32)}\n`, 'a'.repeat(33), 'g'.repeat(32)])
    t.strictSame(keysOf(await ask(odd)), ['queryJobID']);
  for (const status of ['queued', 'in-progress', 'failed', 'expired'] as const)
    t.strictSame(faultsOf(await ask(app.query(status))), {
      queryJobID: [`is a query job that is ${status}; a complete one is required`],
    });
  t.strictSame((await app.call('1', 'GET', '/jobs')).body, [], 'nothing is left behind');
});

t.test('all faults are told at once, each under its key', async (t) => {
  const app = await reportApp(t);
  const query = app.query('complete', 'blastp');
  const answer = await app.call('1', 'POST', '/jobs', {
    queryJobID: query,
    blastConfig: { formatType: 'sam', lineLength: 0, sortHits: 'by-name', colour: 'red', maxTargetSequences: 4 },
    addToUserCollection: 'yes',
    userMeta: { summary: 'x'.repeat(513), description: 7, colour: 'red' },
    colour: 'red',
  });
  t.match(answer.body, { status: 'invalid-input' });
  t.strictSame(keysOf(answer), [
    'addToUserCollection',
    'blastConfig.colour',
    'blastConfig.formatType',
    'blastConfig.lineLength',
    'blastConfig.maxTargetSequences',
    'blastConfig.sortHits',
    'colour',
    'userMeta.colour',
    'userMeta.description',
    'userMeta.summary',
  ]);
});

t.test('text that no database keeps is a fault', async (t) => {
  const app = await reportApp(t);
  const queryJobID = app.query();
  for (const text of ['a\u0000b', 'half \ud800'])
    for (const name of ['summary', 'description'])
      t.strictSame(keysOf(await app.call('1', 'POST', '/jobs', { queryJobID, userMeta: { [name]: text } })), [
        `userMeta.${name}`,
      ]);
});

t.test('a summary of 512 characters is taken, whatever they are', async (t) => {
  const app = await reportApp(t);
  const userMeta = { summary: '🧬'.repeat(512), description: 'long\n'.repeat(50_000) };
  const id = await app.create('1', app.query(), { userMeta });
  t.match((await app.call('1', 'GET', `/jobs/${id}`)).body, { userMeta });
});

t.test('when too many wait, more are 503 with Retry-After, and the same ones are not', async (t) => {
  const app = await reportApp(t, { limits: { maxQueued: 2, maxQueuedPerUser: 9, retryAfterMs: 0 } });
  const waiting = app.query();
  for (const one of [waiting, app.query()]) await app.create('1', one);
  const query = app.query();
  const refused = await app.call('1', 'POST', '/jobs', { queryJobID: query });
  t.match(refused, { status: 503, body: { status: 'server-error', message: /^2 report jobs wait already/ } });
  t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/);
  t.equal(((await app.call('1', 'GET', '/jobs')).body as unknown[]).length, 2, 'it is in no collection');
  await app.create('1', waiting);
  t.equal((await app.queue.completeAndFetch([], { limit: 1 }, new Date(app.clock.now()), never)).length, 1);
  await app.create('1', query);
});

t.test('when too many of a caller wait, more are 429 with Retry-After, and others are taken', async (t) => {
  const app = await reportApp(t, { limits: { maxQueued: 100, maxQueuedPerUser: 2, retryAfterMs: 0 } });
  const ask = (user: string, queryJobID: string) => app.call(user, 'POST', '/jobs', { queryJobID });
  for (let i = 0; i < 2; i++) await app.create('1', app.query());
  const query = app.query();
  const refused = await ask('1', query);
  t.match(refused, { status: 429, body: { status: 'bad-request', message: /^2 of your report jobs wait/ } });
  t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/);
  await app.create('2', query);
  // Each guest has a number of its own, and all come from one address.
  await app.create('guest-1', app.query());
  await app.create('guest-2', app.query());
  const guests = await ask('guest-3', app.query());
  t.match(guests, { status: 429, body: { message: /^2 of your address's report jobs wait/ } });
  const expired = await app.create('2', app.query());
  await app.db.query(`update report_job set status = 'expired' where id = $1`, [expired]);
  await app.create('2', app.query());
  t.equal((await app.call('2', 'POST', `/jobs/${expired}`)).status, 429, 'queueing again, too');
});

t.test('ten thousand may wait', async (t) => {
  const app = await reportApp(t, { limits: { maxQueued: 10_000, maxQueuedPerUser: 10_000, retryAfterMs: 0 } });
  await app.db.query(
    `insert into report_job (id, query_id, configuration, fingerprint, created_at, run_at, accessed_at)
     select lpad(to_hex(n), 32, '0'), repeat('0', 32), '{}', 'f', $1, $1, $1 from generate_series(1, 9999) n`,
    [new Date(app.clock.now())],
  );
  await app.create('1', app.query());
  t.equal((await app.call('1', 'POST', '/jobs', { queryJobID: app.query() })).status, 503);
});

t.test('while query jobs cannot be looked at, the answer is 503 and not that there is none', async (t) => {
  const app = await reportApp(t);
  const queryJobID = app.query();
  app.queries.away = true;
  t.match(await app.call('1', 'POST', '/jobs', { queryJobID }), { status: 503, body: { status: 'server-error' } });
  app.queries.away = false;
  t.equal((await app.call('1', 'POST', '/jobs', { queryJobID })).status, 200);
});

t.test('a key is for one request: another one is 422, the same gets the same answer', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const post = (body: object, who = '1') => app.call(who, 'POST', '/jobs', body, { 'idempotency-key': 'k' });
  const [first, again] = [await post({ queryJobID: query }), await post({ queryJobID: query })];
  t.strictSame([first.status, first.headers.get('idempotent-replayed')], [200, null]);
  t.strictSame([again.status, again.text, again.headers.get('idempotent-replayed')], [200, first.text, 'true']);
  t.match(await post({ queryJobID: query, blastConfig: { formatType: 'csv' } }), { status: 422 });
  t.equal((await post({ queryJobID: query, blastConfig: { formatType: 'csv' } }, 'guest-1')).status, 200);
});
