// The contract of reports on the running program: every endpoint, code and error body.

import t, { type Test } from 'tap';
import { checkApiPage } from '../contract/api-page.ts';
import type { Answer, ContractClient } from '../contract/client.ts';
import type { ReportRowId } from '../contract/report.ts';
import { bodyOf, faultsOf, listOf, reportWorld } from '../contract/report-world.ts';
import { inCache } from '../contract/watch.ts';

const at = await reportWorld(t);
const { admin, complete, create, nobody, row } = at;
const user = await at.person();
const { client } = user;
const other = await at.person();
const query = await at.query();
const done = await complete(user);
const NONE = '0'.repeat(32);
const FILE = `/jobs/${done}/files/report.txt`;
const idsOf = (answer: Answer) => listOf(answer).map(({ reportJobID }) => reportJobID);

row('report/endpoints/GET /jobs', async (t) => {
  const who = await at.person();
  t.strictSame(listOf(await who.client.get('/jobs')), []);
  const [first, second] = [await create(who, query), await create(who, await at.query())];
  t.strictSame(idsOf(await who.client.get('/jobs')), [second, first]);
  for (const one of [query, query.toUpperCase()])
    t.strictSame(idsOf(await who.client.get(`/jobs?query_job_id=${one}`)), [first]);
  await at.becomes(first, 'complete');
  const { headers } = await who.client.get(`/jobs?query_job_id=${query}`);
  const same = { 'if-none-match': headers.get('etag') ?? '' };
  t.equal((await who.client.get(`/jobs?query_job_id=${query}`, same)).status, 304);
});
row('report/decisions/filter', async (t) => {
  for (const odd of ['x', NONE, 'g'.repeat(32), ''])
    t.strictSame(listOf(await client.get(`/jobs?query_job_id=${odd}`)), []);
});
row('report/endpoints/POST /jobs', async (t) =>
  t.equal((await client.send('POST', '/jobs', { queryJobID: query })).status, 200),
);
row('report/endpoints/GET /jobs/{job-id}', async (t) => {
  for (const [asked, length] of [
    ['?save_job=false', 0],
    ['?save_job=true', 1],
    ['', 1],
  ] as const) {
    const who = await at.person();
    t.match(bodyOf(await who.client.get(`/jobs/${done}${asked}`)), { reportJobID: done });
    t.equal(listOf(await who.client.get('/jobs')).length, length, asked);
  }
});
row('report/endpoints/PATCH /jobs/{job-id}', async (t) =>
  t.equal((await client.send('PATCH', `/jobs/${done}`, { userMeta: { summary: 'x' } })).status, 204),
);
row('report/endpoints/POST /jobs/{job-id}', async (t) => {
  const id = await complete(user);
  t.equal((await admin.send('DELETE', `/maintenance/cache/${id}`)).status, 204);
  t.equal((await client.send('POST', `/jobs/${id}`)).status, 204);
  await at.becomes(id, 'complete');
});
row('report/endpoints/DELETE /jobs/{job-id}', async (t) => {
  const id = await create(user, await at.query());
  t.equal((await client.send('DELETE', `/jobs/${id}`)).status, 204);
  t.equal((await client.send('DELETE', `/jobs/${id}`)).status, 404);
});
row('report/endpoints/GET /jobs/{job-id}/files', async (t) => {
  const list = await client.get(`/jobs/${done}/files`);
  t.match(listOf(list), [{ name: 'report.txt' }, { name: 'report.zip' }]);
  const known = { 'if-none-match': list.headers.get('etag') ?? '' };
  t.equal((await client.get(`/jobs/${done}/files`, known)).status, 304);
});
row('report/endpoints/GET /jobs/{job-id}/files/{filename}', async (t) => {
  t.equal((await client.get(FILE)).text, '"result"\n');
  for (const [asked, disposition] of [
    ['', null],
    ['?download=false', null],
    ['?download=true', /^attachment; filename="?report\.txt"?$/],
  ] as const)
    t.match((await client.get(FILE + asked)).headers.get('content-disposition'), disposition);
});
row('report/endpoints/GET /jobs/{job-id}/stderr', async (t) => {
  const { status, text, headers } = await client.get(`/jobs/${done}/stderr`);
  t.strictSame([status, text], [200, 'Warning: it is only told\n']);
  t.match(headers.get('content-type'), /^text\/plain/);
});
row('report/endpoints/POST /statuses', async (t) =>
  t.strictSame(bodyOf(await other.client.send('POST', '/statuses', [done, NONE, 'x'])), { [done]: 'complete' }),
);
row('report/endpoints/POST /link-guest', async (t) => {
  const [guest, who] = [await at.person(true), await at.person()];
  const id = await create(guest, query, { userMeta: { summary: 'as a guest' } });
  const link = (from: ContractClient, body: object) => from.send('POST', '/link-guest', body);
  t.equal((await link(who.client, { guestID: guest.id, guestToken: who.token })).status, 403, 'no proof');
  t.equal((await link(guest.client, { guestToken: guest.token })).status, 403, 'no user');
  t.equal((await link(who.client, { guestID: guest.id, guestToken: guest.token })).status, 204);
  t.match(listOf(await who.client.get('/jobs')), [{ reportJobID: id, userMeta: { summary: 'as a guest' } }]);
  t.strictSame(listOf(await guest.client.get('/jobs')), []);
});
row('report/endpoints/DELETE /maintenance/cache/{job-id}', async (t) => {
  const id = await complete(user);
  t.equal((await admin.send('DELETE', `/maintenance/cache/${id}`)).status, 204);
  await at.becomes(id, 'expired');
  t.equal((await admin.send('DELETE', `/maintenance/cache/${NONE}`)).status, 404);
});
row('report/endpoints/GET /maintenance/broken-jobs', async (t) => {
  const queryJobID = await at.query({ archive: 'fail' });
  const id = await create(user, queryJobID);
  await at.becomes(id, 'failed');
  const list = await admin.get('/maintenance/broken-jobs');
  t.match(listOf(list), [{ reportJobID: id, rawConfig: { queryJobID, blastConfig: { formatType: 'pairwise' } } }]);
  const known = { 'if-none-match': list.headers.get('etag') ?? '' };
  t.equal((await admin.get('/maintenance/broken-jobs', known)).status, 304);
});
row('report/endpoints/GET /api', async (t) => {
  await checkApiPage(t, nobody);
});
row('report/endpoints/GET /api/openapi.json', async (t) =>
  t.strictSame(bodyOf(await nobody.get('/api/openapi.json')), at.recorder.document),
);
row('report/endpoints/GET /health', async (t) => {
  const { status, dependencies, info } = bodyOf(await nobody.get('/health'));
  t.equal(status, 'healthy');
  t.match(
    (dependencies as { name: string; online: string }[]).map(({ name, online }) => `${name} ${online}`),
    ['report-db yes', 'query-jobs yes', 'blast_formatter yes', 'object-store yes'],
  );
  t.match(info, { threads: Number, uptime: /s$/, uptimeMillis: Number });
});
row('report/endpoints/GET /ready', async (t) => t.strictSame(bodyOf(await nobody.get('/ready')), { ready: true }));
row('report/endpoints/GET /metrics', async (t) => {
  const { status, headers, text } = await nobody.get('/metrics');
  t.equal(status, 200);
  t.match(headers.get('content-type'), /^text\/plain/);
  t.match(text, /^longshore_report_formatter_seconds_count\{format_type="pairwise"\} [1-9]/m);
});

// Codes
const problem = (word: string, answer: Answer, t: Test, code: number): void => {
  t.equal(answer.status, code);
  t.match(answer.body, { status: word, message: /./ });
};
const OPERATIONS = [
  ['GET /jobs', (who: ContractClient) => who.get('/jobs')],
  ['POST /jobs', (who: ContractClient) => who.send('POST', '/jobs', { queryJobID: query })],
  ['GET /jobs/{job-id}', (who: ContractClient, id = done) => who.get(`/jobs/${id}`)],
  [
    'PATCH /jobs/{job-id}',
    (who: ContractClient, id = done) => who.send('PATCH', `/jobs/${id}`, { userMeta: { summary: 'x' } }),
  ],
  ['POST /jobs/{job-id}', (who: ContractClient, id = done) => who.send('POST', `/jobs/${id}`)],
  ['DELETE /jobs/{job-id}', (who: ContractClient, id = done) => who.send('DELETE', `/jobs/${id}`)],
  ['GET files', (who: ContractClient, id = done) => who.get(`/jobs/${id}/files`)],
  ['GET file', (who: ContractClient, id = done) => who.get(`/jobs/${id}/files/report.txt`)],
] as const;
for (const [name, call] of OPERATIONS) {
  row(`report/codes/${name} 401`, async (t) => problem('unauthorized', await call(nobody), t, 401));
  if (name === 'GET /jobs' || name === 'POST /jobs') continue;
  row(`report/codes/${name} 404`, async (t) => {
    for (const id of [NONE, 'x']) problem('not-found', await call(client, id), t, 404);
  });
}
row('report/codes/POST /jobs 400', async (t) => {
  for (const body of ['{', '[]', '"text"', 'null', ''])
    problem('bad-request', await json('POST', '/jobs', body), t, 400);
});
row('report/codes/PATCH /jobs/{job-id} 400', async (t) => {
  for (const body of ['{', '[]', '7', '']) problem('bad-request', await json('PATCH', `/jobs/${done}`, body), t, 400);
});
row('report/codes/POST /jobs 422', async (t) =>
  t.strictSame(faultsOf(await client.send('POST', '/jobs', { blastConfig: { lineLength: 0 } })), [
    'blastConfig.lineLength',
    'queryJobID',
  ]),
);
row('report/codes/PATCH /jobs/{job-id} 422', async (t) =>
  t.strictSame(faultsOf(await client.send('PATCH', `/jobs/${done}`, { userMeta: { summary: 7 } })), [
    'userMeta.summary',
  ]),
);
row('report/codes/POST /jobs/{job-id} 403', async (t) =>
  problem('forbidden', await client.send('POST', `/jobs/${done}`), t, 403),
);
const expired = await complete(user);
await admin.send('DELETE', `/maintenance/cache/${expired}`);
row('report/codes/GET files 403', async (t) =>
  problem('forbidden', await client.get(`/jobs/${expired}/files`), t, 403),
);
row('report/codes/GET file 403', async (t) =>
  problem('forbidden', await client.get(`/jobs/${expired}/files/report.txt`), t, 403),
);

// Authentication
row('report/authentication/every endpoint', async (t) => {
  const guest = await at.person(true);
  for (const [name, call] of OPERATIONS) {
    problem('unauthorized', await call(nobody), t, 401);
    if (!/PATCH|DELETE|POST \/jobs\//.test(name)) t.equal((await call(guest.client)).status, 200, name);
  }
  for (const path of [`/jobs/${done}/stderr`, FILE]) problem('unauthorized', await nobody.get(path), t, 401);
  problem('unauthorized', await nobody.send('POST', '/statuses', []), t, 401);
  problem('unauthorized', await nobody.send('POST', '/link-guest', {}), t, 401);
});
row('report/authentication/Auth-Key', async (t) => {
  const [me, other] = [await at.person(), await at.person()];
  const get = async (headers: Record<string, string>) => (await at.as(headers).get('/jobs')).status;
  for (const name of ['auth-key', 'auth_key'])
    for (const value of [me.token, `Bearer ${me.token}`]) t.equal(await get({ [name]: value }), 200, name);
  t.equal(await get({ 'auth-key': me.token, authorization: `Bearer ${other.token}` }), 400);
  t.equal(await get({ 'auth-key': '42' }), 401);
});
row('report/authentication/administrators', async (t) => {
  t.equal((await admin.get(`/jobs/${done}`)).status, 200);
  for (const [method, path] of [
    ['DELETE', '/maintenance/cache'],
    ['DELETE', `/maintenance/cache/${done}`],
    ['GET', '/maintenance/broken-jobs'],
  ] as const)
    for (const who of [nobody, client]) problem('unauthorized', await who.send(method, path), t, 401);
  problem('unauthorized', await admin.get('/jobs'), t, 401);
});

// Error bodies
const json = (method: string, path: string, body: string): Promise<Answer> =>
  client.call(method, path, { headers: { 'content-type': 'application/json' }, body });
/** The body whole, beside its message. */
const exactly = (id: ReportRowId, call: () => Promise<Answer>, code: number, word: string, keys: readonly string[]) =>
  row(id, async (t) => {
    const answer = await call();
    problem(word, answer, t, code);
    t.strictSame(Object.keys(answer.body as object).sort(), ['message', 'status', ...keys].sort());
  });
exactly('report/errors/400', () => json('POST', '/jobs', '{'), 400, 'bad-request', []);
exactly('report/errors/401', () => nobody.get('/jobs'), 401, 'unauthorized', []);
exactly('report/errors/403', () => client.send('POST', `/jobs/${done}`), 403, 'forbidden', []);
row('report/errors/404', async (t) => {
  for (const path of [`/jobs/${NONE}`, '/nothing', `/jobs/${done}/files/nothing`]) {
    const answer = await client.get(path);
    problem('not-found', answer, t, 404);
    t.strictSame(Object.keys(answer.body as object).sort(), ['message', 'status']);
  }
});
row('report/errors/405', async (t) => {
  const answer = await client.send('PUT', '/jobs', {});
  problem('bad-method', answer, t, 405);
  t.match(answer.headers.get('allow'), /GET.*POST/);
});
row('report/errors/422', async (t) => {
  const answer = await client.send('POST', '/jobs', { queryJobID: NONE });
  problem('invalid-input', answer, t, 422);
  t.strictSame((answer.body as { errors: unknown }).errors, {
    general: [],
    byKey: { queryJobID: ['is no query job'] },
  });
});

// Last, since afterwards all is expired, and then broken.
row('report/endpoints/DELETE /maintenance/cache', async (t) => {
  t.equal((await admin.send('DELETE', '/maintenance/cache')).status, 204);
  await at.becomes(done, 'expired');
});
const broken = new Map<string, Answer>();
row('report/errors/500', async (t) => {
  await inCache(
    at.dir,
    'alter table report.collection rename to collection_away',
    `alter table report.report_job add constraint broken check (status <> 'queued') not valid`,
  );
  for (const [name, call] of OPERATIONS) broken.set(name, await call(client, done));
  await inCache(
    at.dir,
    'alter table report.collection_away rename to collection',
    'alter table report.report_job drop constraint broken',
  );
  for (const answer of broken.values()) {
    problem('server-error', answer, t, 500);
    const body = answer.body as Record<string, unknown>;
    t.strictSame(Object.keys(body).sort(), ['message', 'requestId', 'status']);
    t.equal(body.requestId, answer.headers.get('x-request-id'));
    t.equal(body.message, 'internal error');
  }
});
for (const [name] of OPERATIONS) {
  row(`report/codes/${name} 500`, async (t) => t.equal(broken.get(name)?.status, 500));
}
