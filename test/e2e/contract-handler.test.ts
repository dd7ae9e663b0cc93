// The contract of handler jobs on the running program: what the handler service says of itself and of its jobs, and every endpoint.

import { chmod, rename } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parseDuration } from '../../engine/runtime/duration.ts';
import { checkApiPage } from '../contract/api-page.ts';
import { handlerWorld, metadata, OWNER, pathOf, TEMPLATES } from '../contract/handler-world.ts';
import { inCache } from '../contract/watch.ts';
import { tarGzOf, zipOf } from '../fixtures/archives.ts';
import { untar } from '../http/handler/handler-app.ts';
import { withCache } from '../support/places.ts';

const at = await handlerWorld(t);
const { client, dir, row, put, post, job, status } = at;
const COPY = { 'run.sh': 'mkdir output; cp a.txt output/', 'a.txt': 'alpha' };
const archive = await zipOf(COPY);
// Before the first test begins: the tests count jobs.
await job('done', COPY, metadata({ projects: ['BetaDB', 'AlphaDB'] }));
type Body = Record<string, unknown>;

const byKey = async (about: unknown): Promise<unknown> => {
  const { status: code, body } = await put('checked', about);
  if (code === 204) return {};
  if (code !== 422) throw new Error(`neither accepted nor invalid: ${code}`);
  return (body as { errors: { general: unknown; byKey: unknown } }).errors.byKey;
};

/** While the records cannot be read, and not because something is away for a while. */
async function withoutRecords(facts: () => Promise<void>): Promise<void> {
  await inCache(dir, 'alter table handler_job rename to handler_job_away');
  try {
    await facts();
  } finally {
    await inCache(dir, 'alter table handler_job_away rename to handler_job');
  }
}

const options = async (): Promise<Body> => (await client.get('/config')).body as Body;
row('handler/options/serviceName', async (t) => t.equal((await options()).serviceName, 'sample-handler'));
row('handler/options/port', async (t) => t.equal((await options()).port, at.port));
row('handler/options/configPath', async (t) => t.equal((await options()).configPath, join(dir, 'config.yaml')));
row('handler/options/commands', async (t) =>
  t.strictSame((await options()).commands, [
    { command: '/bin/sh', arguments: ['-eu', 'run.sh', ...TEMPLATES] },
    { command: '/bin/sh', arguments: ['-euc', '[ ! -e then.sh ] || exec sh -eu then.sh'] },
    { command: at.lastProgram, arguments: [] },
  ]),
);
row('handler/options/commands[].command', async (t) => {
  const commands = (await options()).commands as readonly Body[];
  t.strictSame(
    commands.map(({ command }) => command),
    ['/bin/sh', '/bin/sh', at.lastProgram],
  );
});
row('handler/options/commands[].arguments', async (t) => {
  const [first] = (await options()).commands as readonly Body[];
  t.strictSame(first?.arguments, ['-eu', 'run.sh', ...TEMPLATES], 'templates as they were written');
});
row('handler/options/extra properties', async (t) => {
  const { fileTypes, maxUploadSize } = await options();
  t.strictSame({ fileTypes, maxUploadSize }, { fileTypes: ['.zip', '.tar.gz', '.tgz'], maxUploadSize: 524_288_000 });
});

interface Stats {
  readonly byStatus: Readonly<Record<string, number>>;
  readonly avgSize: number;
  readonly avgDuration: string;
  readonly largest: number;
  readonly longest: string;
}
interface Health extends Body {
  readonly stats: Stats;
}
const health = async (): Promise<Health> => (await client.get('/health')).body as Health;
row('handler/health/status', async (t) => t.equal((await health()).status, 'healthy'));
row('handler/health/version', async (t) => t.match((await health()).version, /^\d+\.\d+\.\d+/));
row('handler/health/extra properties', async (t) =>
  t.match((await health()).dependencies, [{ name: 'cache-db', reachable: true, online: 'yes' }]),
);
row('handler/health/stats', async (t) =>
  t.strictSame(Object.keys((await health()).stats).sort(), [
    'avgDuration',
    'avgSize',
    'byStatus',
    'largest',
    'longest',
  ]),
);
row('handler/health/stats.byStatus', async (t) => {
  const before = (await health()).stats.byStatus;
  await put('counted');
  await put('counted', '"no object"');
  await status('counted');
  const after = (await health()).stats.byStatus;
  const more = Object.fromEntries(Object.entries(after).map(([code, n]) => [code, n - (before[code] ?? 0)]));
  // The first look at the health is an answer too.
  t.match(more, { 200: 2, 204: 1, 400: 1 });
});
row('handler/health/stats.avgSize', async (t) => {
  await inCache(
    dir,
    'update handler_total set uploads = 0, uploaded_bytes = 0, largest = 0, runs = 0, run_ms = 0, longest_ms = 0',
  );
  t.strictSame((await health()).stats.avgSize, 0, 'of none');
  const larger = await zipOf({ ...COPY, 'b.txt': 'b'.repeat(10_000) });
  for (const [id, body] of [['small', archive] as const, ['larger', larger] as const]) {
    await put(id);
    t.equal((await post(id, body)).status, 200);
  }
  const { avgSize, largest } = (await health()).stats;
  t.strictSame([avgSize, largest], [Math.round((archive.length + larger.length) / 2), larger.length]);
});
row('handler/health/stats.largest', async (t) => {
  const { largest } = (await health()).stats;
  await job('large', { ...COPY, 'c.txt': Buffer.alloc(50_000, 1) });
  const { size } = await status('large');
  t.ok(Number(size) > 0);
  t.equal((await health()).stats.largest, Math.max(largest, Number(size)));
});
row('handler/health/stats.avgDuration', async (t) => {
  const { avgDuration, longest } = (await health()).stats;
  const [average = 0, most = 0] = [avgDuration, longest].map((text) => parseDuration(text));
  t.ok(average > 0 && average <= most, `${avgDuration} ${longest}`);
});
row('handler/health/stats.longest', async (t) => {
  await inCache(dir, 'update handler_total set longest_ms = 62345');
  t.equal((await health()).stats.longest, '1m 2.345s');
});

row('handler/metadata/projects', async (t) => {
  t.strictSame(await byKey(metadata({ projects: ['AlphaDB', 'BetaDB'] })), {});
  t.strictSame(await byKey(metadata({ projects: undefined })), { projects: 'is required' });
  t.strictSame(await byKey(metadata({ projects: 'AlphaDB' })), { projects: 'must be an array of project ids' });
  t.strictSame(await byKey(metadata({ projects: [] })), { projects: 'must name at least one project' });
  t.strictSame(await byKey(metadata({ projects: ['AlphaDB', 'AlphaDB'] })), { projects: "names 'AlphaDB' twice" });
  t.strictSame(await byKey(metadata({ projects: [1] })), { projects: 'must hold texts only' });
  t.strictSame(await byKey(metadata({ projects: ['GammaDB'] })), {
    projects: "'GammaDB' is no project; known: AlphaDB, BetaDB",
  });
});
row('handler/metadata/owner', async (t) => {
  t.strictSame(await byKey(metadata({ owner: undefined })), { owner: 'is required' });
  for (const owner of ['42', 0, -1, 1.5, null])
    t.strictSame(
      await byKey(metadata({ owner })),
      { owner: 'must be a user id: a whole number above 0' },
      String(owner),
    );
  await put('owned', `{"projects":["AlphaDB"],"owner":9223372036854775807,"name":"abc"}`);
  const { text } = await client.call('PUT', pathOf('owned'), {
    headers: { 'content-type': 'application/json' },
    body: '{"projects":["AlphaDB"],"owner":9007199254740993,"name":"abc"}',
  });
  t.equal(text, '');
  t.match((await client.get(pathOf('owned', '/status'))).text, '"userId":9007199254740993', 'to the last digit');
});
row('handler/metadata/name', async (t) => {
  t.strictSame(await byKey(metadata({ name: 'abc' })), {});
  t.strictSame(await byKey(metadata({ name: undefined })), { name: 'is required' });
  t.strictSame(await byKey(metadata({ name: 'ab' })), { name: 'must have at least 3 characters' });
  t.strictSame(await byKey(metadata({ name: 5 })), { name: 'must be text' });
});
for (const key of ['description', 'summary'] as const)
  row(`handler/metadata/${key}`, async (t) => {
    t.strictSame(await byKey(metadata({ [key]: '' })), {});
    t.strictSame(await byKey(metadata({ [key]: 5 })), { [key]: 'must be text' });
    t.strictSame(await byKey(metadata({ [key]: 'a\0b' })), { [key]: 'must not hold the character NUL' });
  });
row('handler/metadata/origin', async (t) => {
  for (const origin of ['galaxy', 'direct-upload', undefined]) t.strictSame(await byKey(metadata({ origin })), {});
  for (const origin of ['', 'Galaxy', 1])
    t.strictSame(await byKey(metadata({ origin })), { origin: 'must be one of galaxy, direct-upload' });
});
row('handler/metadata/handlerParams', async (t) => {
  t.strictSame(await byKey(metadata({ handlerParams: { a: 'x', b: 1.5, c: false } })), {});
  t.strictSame(await byKey(metadata({ handlerParams: [] })), { handlerParams: 'must be an object' });
  const wrong = 'must be text, a number, true or false';
  t.strictSame(await byKey(metadata({ handlerParams: { a: [], b: {}, c: null, d: 'a\0' } })), {
    'handlerParams.a': wrong,
    'handlerParams.b': wrong,
    'handlerParams.c': wrong,
    'handlerParams.d': 'must not hold the character NUL',
  });
});
row('handler/metadata/extra properties', async (t) => {
  t.strictSame(await byKey(metadata({ anything: [{ at: 'all' }], jobId: 'other' })), {});
});

row('handler/status/started', async (t) => {
  await put('not yet');
  t.notOk('started' in (await status('not yet')));
  const { started } = await status('done');
  t.match(started, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.ok(Math.abs(Date.now() - Date.parse(String(started))) < 300_000);
});
row('handler/status/duration', async (t) => {
  t.equal((await status('not yet')).duration, '0s');
  const { duration } = await status('done');
  t.ok((parseDuration(String(duration)) ?? 0) > 0, String(duration));
  t.equal((await status('done')).duration, duration, 'stands still');
});
row('handler/status/userId', async (t) => t.equal((await status('done')).userId, OWNER));
row('handler/status/jobId', async (t) => t.equal((await status('done')).jobId, 'done'));
row('handler/status/status', async (t) => t.equal((await status('done')).status, 'job completed'));
row('handler/status/projects', async (t) => t.strictSame((await status('done')).projects, ['BetaDB', 'AlphaDB']));
row('handler/status/size', async (t) => {
  t.equal((await status('not yet')).size, 0);
  t.equal((await status('done')).size, archive.length);
});
row('handler/status/extra properties', async (t) => {
  t.notOk('message' in (await status('done')));
  await job('without', { 'run.sh': 'exit 7' });
  t.equal((await status('without')).message, 'command 1 (sh) ended with exit code 7');
});

row('handler/endpoints/GET /api', async (t) => {
  await checkApiPage(t, client);
});
row('handler/endpoints/GET /api/openapi.json', async (t) => {
  const { body } = await client.get('/api/openapi.json');
  t.strictSame(Object.keys((body as { paths: object }).paths).sort(), [
    '/api',
    '/api/openapi.json',
    '/api/scripts/{name}',
    '/config',
    '/health',
    '/job/{jobId}',
    '/job/{jobId}/result',
    '/job/{jobId}/status',
    '/metrics',
    '/ready',
  ]);
});
row('handler/endpoints/GET /config', async (t) => t.equal((await client.get('/config')).status, 200));
row('handler/endpoints/GET /health', async (t) => t.equal((await client.get('/health')).status, 200));
row('handler/endpoints/GET /ready', async (t) => t.strictSame((await client.get('/ready')).body, { ready: true }));
row('handler/endpoints/GET /metrics', async (t) => {
  const { status: code, headers, text } = await client.get('/metrics');
  t.equal(code, 200);
  t.match(headers.get('content-type'), /^text\/plain/);
  t.match(text, /^# HELP longshore_handler_jobs_total /m);
});
row('handler/endpoints/PUT /job/{job-id}', async (t) => {
  const { status: code, text } = await put('put');
  t.strictSame([code, text], [204, '']);
});
row('handler/endpoints/POST /job/{job-id}', async (t) => {
  for (const [id, body] of [['zip', archive] as const, ['tgz', await tarGzOf(COPY)] as const]) {
    await put(id);
    const answer = await post(id, body);
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('content-type'), 'application/binary');
    t.equal((await untar(answer.bytes))['datafiles/a.txt'], 'alpha');
  }
});
row('handler/endpoints/GET /job/{job-id}/status', async (t) => {
  t.match((await client.get(pathOf('done', '/status'))).status, 200);
});
row('handler/endpoints/GET /job/{job-id}/result', async (t) => {
  await put('again');
  const { bytes } = await post('again', archive);
  for (let times = 0; times < 2; times++) {
    const answer = await client.get(pathOf('again', '/result'));
    t.equal(answer.status, 200);
    t.ok(answer.bytes.equals(bytes));
  }
});

row('handler/codes/GET /health 500', async (t) => {
  await rename(at.workDir, `${at.workDir}-away`);
  await chmod(at.lastProgram, 0o644);
  const { status: code, body } = await client.get('/health');
  await chmod(at.lastProgram, 0o755);
  await rename(`${at.workDir}-away`, at.workDir);
  t.equal(code, 500);
  t.match(body, {
    status: 'server-error',
    message: new RegExp(
      `workspace: the workspace folder does not exist or is not writable; disk: .*; command ${at.lastProgram}: it does not exist or is not executable`,
    ),
  });
  t.equal((await client.get('/health')).status, 200, 'and back');
});
for (const [id, call] of [
  ['handler/codes/PUT 500', () => put('x')],
  ['handler/codes/POST 500', () => post('done', archive)],
  ['handler/codes/status 500', () => client.get(pathOf('done', '/status'))],
  ['handler/codes/result 500', () => client.get(pathOf('done', '/result'))],
] as const)
  row(id, (t) =>
    withoutRecords(async () => {
      const { status: code, body, headers } = await call();
      t.equal(code, 500);
      const requestId = headers.get('x-request-id');
      t.strictSame(body, { status: 'server-error', message: 'internal error', requestId });
    }),
  );
row('handler/codes/PUT 400', async (t) => t.equal((await put('x', 'no object')).status, 400));
row('handler/codes/PUT 422', async (t) => t.equal((await put('x', {})).status, 422));
row('handler/codes/POST 400', async (t) => {
  await put('x');
  t.equal((await post('x', 'not packed')).status, 400);
});
row('handler/codes/POST 404', async (t) => t.equal((await post('nobody', archive)).status, 404));
row('handler/codes/POST 409', async (t) => t.equal((await post('done', archive)).status, 409));
row('handler/codes/POST 422', async (t) => {
  const { status: code, body } = await job('blamed', {
    'run.sh': `echo '{"error":"user","message":"no"}' >&2; exit 1`,
  });
  t.equal(code, 422);
  t.match(body, { status: 'invalid-input', errors: { general: ['no'], byKey: {} } });
});
row('handler/codes/status 404', async (t) => t.equal((await client.get(pathOf('nobody', '/status'))).status, 404));
row('handler/codes/result 404', async (t) => {
  const message = async (id: string): Promise<unknown> => {
    const { status: code, body } = await client.get(pathOf(id, '/result'));
    t.equal(code, 404);
    return (body as Body).message;
  };
  t.equal(await message('nobody'), "there is no job 'nobody'");
  await put('early');
  t.equal(await message('early'), "job 'early' has no result: its status is 'awaiting upload'");
  await job('late', COPY);
  await inCache(dir, `update handler_job set result_expires_at = now() where job_id = 'late'`);
  t.equal(await message('late'), "the result of job 'late' was removed after its time");
});

row('handler/states/registered anew', async (t) => {
  await job('anew', COPY);
  t.equal((await put('anew')).status, 204);
  t.match(await status('anew'), { status: 'awaiting upload', size: 0, duration: '0s' });
  t.equal((await client.get(pathOf('anew', '/result'))).status, 404);
  t.equal((await post('anew', archive)).status, 200);
});
row('handler/states/expired', async (t) => {
  await put('expired');
  const [row] = await withCache(
    dir,
    async (cache) =>
      (await cache.query(`select expires_at - created_at = '24h' as kept from handler_job where job_id = 'expired'`))
        .rows,
  );
  t.strictSame(row, { kept: true });
  await inCache(dir, `update handler_job set expires_at = now() where job_id = 'expired'`);
  t.equal((await client.get(pathOf('expired', '/status'))).status, 404);
  t.equal((await post('expired', archive)).status, 404);
});
