// Contract 2, the handler job service: one test for every row of its tables, named after it. Every answer is held against
// what the service documents for that route and code.

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import t, { type Test } from 'tap';
import { fetch, type Response } from 'undici';
import { parseDuration } from '../../../engine/duration.ts';
import type { HandlerJobs } from '../../../engine/ports/handler-jobs.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { raw } from '../http-app.ts';
import { bytesOf, handlerApp, metadata, sh, untar } from './handler-app.ts';

type App = Awaited<ReturnType<typeof handlerApp>>;
type Body = Record<string, unknown>;

const ajv = new Ajv2020({ strict: false });
// The package is typed for the other way of loading it.
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);

/** The JSON of an answer, which must be what its route documents for its code. */
async function documented(t: Test, app: App, route: string, response: Response): Promise<Body> {
  const [method, path] = route.split(' ');
  const found = app.routes.find((one) => one.method === method && one.path === path);
  const schema = found?.responses[response.status]?.schema;
  if (!schema) throw new Error(`${route} documents no ${response.status}`);
  const body = (await response.json()) as Body;
  t.ok(
    ajv.validate(schema, body),
    `${route} ${response.status}: ${JSON.stringify(ajv.errors)} in ${JSON.stringify(body)}`,
  );
  return body;
}

const PUT = 'PUT /job/:jobId';
const POST = 'POST /job/:jobId';
const STATUS = 'GET /job/:jobId/status';
const archive = await zipOf({ 'a.txt': 'a' });
const get = (app: App, path: string): Promise<Response> => fetch(app.url + path);

/** A service whose records cannot be read, and not because something is away for a while. */
async function brokenApp(t: Test): Promise<App> {
  const app = await handlerApp(t);
  const broken = async (): Promise<never> => {
    throw new Error('relation handler_job does not exist');
  };
  Object.assign(app.jobs, { find: broken, register: broken } satisfies Partial<HandlerJobs>);
  return app;
}

async function serverError(t: Test, app: App, route: string, response: Response): Promise<void> {
  t.equal(response.status, 500);
  const requestId = response.headers.get('x-request-id');
  t.strictSame(await documented(t, app, route, response), {
    status: 'server-error',
    message: 'internal error',
    requestId,
  });
}

/** The answer to a POST with these header lines and no more. */
async function refusedHead(t: Test, lines: readonly string[], status: number): Promise<string> {
  const app = await handlerApp(t);
  if (status !== 404) await app.put('x');
  const head = ['POST /job/x HTTP/1.1', 'Host: x', 'Connection: close', 'Expect: 100-continue', ...lines, '', ''];
  const answer = await raw(app.port, head.join('\r\n'));
  t.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer);
  const body = JSON.parse(answer.slice(answer.indexOf('{'))) as Body;
  t.equal(body.status, status === 404 ? 'not-found' : 'bad-request');
  return String(body.message);
}

const ROWS: Readonly<Record<string, (t: Test) => Promise<void>>> = {
  'resources/Options': async (t) => {
    const app = await handlerApp(t);
    const body = await documented(t, app, 'GET /config', await get(app, '/config'));
    t.match(body, { serviceName: String, port: Number, configPath: String, commands: [{ command: String }] });
  },
  'resources/Health': async (t) => {
    const app = await handlerApp(t);
    await (await app.job('x', archive)).arrayBuffer();
    const body = await documented(t, app, 'GET /health', await get(app, '/health'));
    t.match(body, { status: 'healthy', version: '1.2.3' });
    const { byStatus, avgSize, avgDuration, largest, longest } = body.stats as Body;
    t.strictSame([byStatus, avgSize, largest], [{ 200: 1, 204: 1 }, archive.length, archive.length]);
    for (const text of [avgDuration, longest]) t.ok((parseDuration(String(text)) ?? 0) > 0, String(text));
  },
  'resources/Job metadata': async (t) => {
    const app = await handlerApp(t);
    const optional = { description: 'd', summary: 's', origin: 'galaxy', handlerParams: { k: 'v' }, extra: [1] };
    t.equal((await app.put('x', metadata())).status, 204, 'only what is required');
    t.equal((await app.put('x', metadata(optional))).status, 204, 'everything, and more');
    for (const key of ['projects', 'owner', 'name'])
      t.equal((await app.put('x', metadata({ [key]: undefined }))).status, 422, `${key} is required`);
  },
  'resources/Job status': async (t) => {
    const app = await handlerApp(t);
    await app.put('x');
    const before = await documented(t, app, STATUS, await get(app, '/job/x/status'));
    t.match(before, {
      duration: '0s',
      userId: 42,
      jobId: 'x',
      status: 'awaiting upload',
      projects: ['AlphaDB'],
      size: 0,
    });
    await (await app.post('x', archive)).arrayBuffer();
    const after = await documented(t, app, STATUS, await get(app, '/job/x/status'));
    t.match(after, { started: /^\d{4}-/, status: 'job completed', size: archive.length });
  },
  'endpoints/GET /api': async (t) => {
    const response = await get(await handlerApp(t), '/api');
    t.equal(response.status, 200);
    t.match(response.headers.get('content-type'), /^text\/html/);
    t.match(await response.text(), '/job/{jobId}');
  },
  'endpoints/GET /config': async (t) => {
    t.equal((await get(await handlerApp(t), '/config')).status, 200);
  },
  'endpoints/GET /health': async (t) => {
    const app = await handlerApp(t);
    t.equal((await get(app, '/health')).status, 200);
    const broken = await handlerApp(t, { commands: [{ ...sh(''), command: '/no/such' }] });
    const body = await documented(t, broken, 'GET /health', await get(broken, '/health'));
    t.match(body, { status: 'server-error', message: /^command \/no\/such: /, requestId: String });
  },
  'endpoints/GET /metrics': async (t) => {
    const response = await get(await handlerApp(t), '/metrics');
    t.equal(response.status, 200);
    t.match(response.headers.get('content-type'), /^text\/plain/);
    t.match(await response.text(), /^# HELP longshore_http_requests_total /m);
  },
  'endpoints/PUT /job/{job-id}': async (t) => {
    const app = await handlerApp(t);
    const response = await app.put('x');
    t.equal(response.status, 204);
    t.equal(await response.text(), '');
    const broken = await brokenApp(t);
    await serverError(t, broken, PUT, await broken.put('x'));
  },
  'endpoints/POST /job/{job-id}': async (t) => {
    const app = await handlerApp(t);
    const response = await app.job('x', archive);
    t.equal(response.status, 200);
    t.equal(response.headers.get('content-type'), 'application/binary');
    t.equal((await untar(await bytesOf(response)))['datafiles/a.txt'], 'a');
    const broken = await brokenApp(t);
    await serverError(t, broken, POST, await broken.post('x', archive));
  },
  'endpoints/GET /job/{job-id}/status': async (t) => {
    const app = await handlerApp(t);
    await app.put('x');
    t.equal((await get(app, '/job/x/status')).status, 200);
    const broken = await brokenApp(t);
    await serverError(t, broken, STATUS, await get(broken, '/job/x/status'));
  },
  'errors/400 PUT: body unparseable': async (t) => {
    const app = await handlerApp(t);
    const response = await app.put('x', '{');
    t.equal(response.status, 400);
    t.match(await documented(t, app, PUT, response), { status: 'bad-request', message: /^the body is not JSON/ });
  },
  'errors/400 POST: no Content-Type header': async (t) => {
    t.match(await refusedHead(t, ['Content-Length: 9'], 400), /^there is no Content-Type header/);
  },
  'errors/400 POST: no Content-Length header': async (t) => {
    const lines = ['Content-Type: application/binary', 'Transfer-Encoding: chunked'];
    t.match(await refusedHead(t, lines, 400), /^there is no Content-Length header/);
  },
  'errors/400 POST: unsupported Content-Type': async (t) => {
    const lines = ['Content-Type: text/plain', 'Content-Length: 9'];
    t.match(await refusedHead(t, lines, 400), /^Content-Type 'text\/plain' is not supported/);
  },
  'errors/400 POST: payload too large': async (t) => {
    const lines = ['Content-Type: application/binary', 'Content-Length: 524288001'];
    t.match(await refusedHead(t, lines, 400), /^the upload is too large/);
  },
  'errors/400 POST: incorrect payload format': async (t) => {
    const app = await handlerApp(t);
    const response = await app.job('x', Buffer.from('not packed'));
    t.equal(response.status, 400);
    const body = await documented(t, app, POST, response);
    t.match(body, { status: 'bad-request', message: /^the upload is no \.zip, \.tar\.gz or \.tgz archive/ });
  },
  'errors/404 POST: no job with the given id': async (t) => {
    t.equal(await refusedHead(t, [], 404), "there is no job 'x'");
  },
  'errors/404 status: no job with the given id': async (t) => {
    const app = await handlerApp(t);
    const response = await get(app, '/job/x/status');
    t.equal(response.status, 404);
    t.strictSame(await documented(t, app, STATUS, response), { status: 'not-found', message: "there is no job 'x'" });
  },
  'errors/422': async (t) => {
    const app = await handlerApp(t);
    const response = await app.put('x', metadata({ name: '' }));
    t.equal(response.status, 422);
    const body = await documented(t, app, PUT, response);
    t.match(body, { status: 'invalid-input', message: String, errors: { general: [], byKey: { name: String } } });
    const blaming = await handlerApp(t, { commands: [sh(`echo '{"error":"user","message":"no"}' >&2; exit 1`)] });
    const blamed = await documented(t, blaming, POST, await blaming.job('x', archive));
    t.match(blamed, { status: 'invalid-input', errors: { general: ['no'], byKey: {} } });
  },
  'errors/500': async (t) => {
    const app = await handlerApp(t, { commands: [sh('exit 1')] });
    const response = await app.job('x', archive);
    t.equal(response.status, 500);
    const body = await documented(t, app, POST, response);
    t.match(body, { status: 'server-error', requestId: response.headers.get('x-request-id') });
  },
  'limits/handler job upload': async (t) => {
    const answers = [524_288_000, 524_288_001].map(async (bytes) => {
      const app = await handlerApp(t, { queueSize: 1, workerCount: 1 });
      await app.put('x');
      // With no place free, what is not refused for its size is refused for that.
      const places = [app.lane.reserve(), app.lane.reserve()];
      const head = `POST /job/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/zip\r\nContent-Length: ${bytes}`;
      const answer = await raw(app.port, `${head}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`);
      for (const place of places) place?.[Symbol.dispose]();
      return answer.split(' ')[1];
    });
    t.strictSame(await Promise.all(answers), ['503', '400']);
  },
};

for (const [row, facts] of Object.entries(ROWS)) void t.test(row, facts);
