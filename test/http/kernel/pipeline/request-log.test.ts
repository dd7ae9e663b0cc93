import { Writable } from 'node:stream';
import pino from 'pino';
import t from 'tap';
import { fetch } from 'undici';
import { aborted, rejected, transient } from '../../../../engine/runtime/failure.ts';
import { unavailable } from '../../../../http/kernel/pipeline/errors.ts';
import { ADMIN, bearer, httpApp, route } from '../../http-app.ts';

function capture() {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()));
      done();
    },
  });
  return { lines, log: pino({ level: 'trace', base: null }, stream) };
}

t.test('an unknown error is logged once, under the id that the caller is told', async (t) => {
  const { lines, log } = capture();
  const bug = route('/bug', 'open', async () => {
    throw new Error('the detail');
  });
  const app = await httpApp(t, [bug], { log });
  const response = await fetch(`${app.url}/bug`, { headers: { traceid: 'trace-1' } });
  const { requestId } = (await response.json()) as { requestId: string };
  t.equal(response.headers.get('x-request-id'), requestId);
  const errors = lines.filter((line) => line.level === 50);
  t.equal(errors.length, 1);
  t.match(errors[0], { request: requestId, traceid: 'trace-1', route: '/bug', err: { message: 'the detail' } });
});

t.test(
  'the lines of a request carry the trace of its caller, or a new one when it sent none that is good',
  async (t) => {
    const { lines, log } = capture();
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const told: string[] = [];
    const works = route('/works', 'open', async (context) => {
      told.push(context.traceparent, context.traceparent);
      context.log.info('one');
      context.log.info('two');
      context.empty(204);
    });
    const app = await httpApp(t, [works], { log });
    const ask = async (headers: Record<string, string | string[]>): Promise<unknown[]> => {
      lines.length = 0;
      await fetch(`${app.url}/works`, { headers: Object.entries(headers).flatMap(pairs) });
      return lines.filter(({ level }) => level === 30).map((line) => line.trace);
    };
    t.strictSame(await ask({ traceparent: `00-${trace}-00f067aa0ba902b7-01` }), [trace, trace]);
    t.match(told, [new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`), told[0]]);
    t.notMatch(told[0], '00f067aa0ba902b7', 'the next one is told our id, not that of our caller');
    const good = `00-${trace}-00f067aa0ba902b7-01`;
    for (const headers of [{}, { traceparent: `00-${trace}-00f067aa0ba902b7` }, { traceparent: [good, good] }]) {
      const [one, two] = await ask(headers);
      t.match(one, /^[0-9a-f]{32}$/);
      t.not(one, trace);
      t.equal(two, one);
    }
  },
);

const pairs = ([name, values]: [string, string | string[]]): [string, string][] =>
  [values].flat().map((value) => [name, value]);

t.test('a failure that may pass is a warning, the fault of a caller none', async (t) => {
  const { lines, log } = capture();
  const throws = (path: string, error: unknown) =>
    route(path, 'open', async () => {
      throw error;
    });
  const app = await httpApp(t, [throws('/away', transient('store away')), throws('/bad', rejected('no'))], { log });
  await fetch(`${app.url}/away`);
  t.match(
    lines.filter(({ level }) => Number(level) >= 40),
    [{ level: 40, err: { message: 'store away' } }],
  );
  lines.length = 0;
  await fetch(`${app.url}/bad`);
  t.same(
    lines.filter(({ level }) => Number(level) >= 40),
    [],
  );
});

t.test('every 5xx is logged with the id that the caller is told, and no error passes for a stop of ours', async (t) => {
  const { lines, log } = capture();
  const guessed = Object.assign(new Error('The operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' });
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });
  const faults: Readonly<Record<string, [error: unknown, status: number, message: string | RegExp]>> = {
    '/aborted': [guessed, 500, 'internal error'],
    '/ours': [aborted('lease lost'), 500, 'internal error'],
    '/full': [transient('putting a: no space', { cause: full }), 503, /^the disk of the service is full/],
    '/full-bare': [full, 503, /^the disk of the service is full/],
    '/quota': [Object.assign(new Error('quota'), { code: 'EDQUOT' }), 503, /^the disk of the service is full/],
    '/away': [transient('store away'), 503, /^a part of the service cannot be reached/],
    '/busy': [unavailable('all places are taken', 5), 503, 'all places are taken'],
    '/bug': [new TypeError('x is not a function'), 500, 'internal error'],
    '/nothing': [undefined, 500, 'internal error'],
  };
  const routes = Object.entries(faults).map(([path, [error]]) =>
    route(path, 'open', async () => {
      throw error;
    }),
  );
  const app = await httpApp(t, routes, { log });
  for (const [path, [, status, message]] of Object.entries(faults)) {
    lines.length = 0;
    const response = await fetch(`${app.url}${path}`);
    const body = (await response.json()) as { message: string; requestId: string };
    t.equal(response.status, status, path);
    t.match(body.message, message, path);
    const logged = lines.filter(({ msg }) => msg === 'request failed');
    t.match(logged, [{ request: body.requestId, route: path, level: status === 500 ? 50 : 40 }], path);
  }
});

t.test('no token gets into the log, wherever it stood', async (t) => {
  const { lines, log } = capture();
  const token = await bearer();
  const app = await httpApp(
    t,
    [
      route('/file', 'user', async (context) => context.json(200, context.query), { queryToken: true }),
      route('/fails', 'user-or-admin', async () => {
        throw new Error('oops');
      }),
    ],
    { log },
  );
  const inQuery = await fetch(`${app.url}/file?access_token=${token}`);
  t.same([inQuery.status, await inQuery.json()], [200, {}]);
  await fetch(`${app.url}/nowhere?access_token=${token}`);
  await fetch(`${app.url}/fails`, { headers: { authorization: `Bearer ${token}` } });
  await fetch(`${app.url}/fails`, { headers: { 'admin-token': ADMIN } });
  await fetch(`${app.url}/fails`, { headers: { 'admin-token': `${ADMIN}x`, traceid: 'not a trace id' } });
  t.ok(lines.length >= 5);
  const text = JSON.stringify(lines);
  for (const secret of [token, ADMIN, 'not a trace id']) t.notOk(text.includes(secret));
});
