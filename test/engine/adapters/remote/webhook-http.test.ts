import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { WebhookHttp, type WebhookHttpOptions } from '../../../../engine/adapters/remote/webhook-http.ts';
import { aborted } from '../../../../engine/runtime/failure.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { LOOPBACK, remoteServer } from '../../../support/remote-server.ts';

const signal = new AbortController().signal;
const OPTIONS: WebhookHttpOptions = { allow: [LOOPBACK], ports: [443], connectMs: 10_000, timeoutMs: 20_000 };
const HEADERS = { 'webhook-id': 'msg_1' };

function sender(
  t: Test,
  options: Partial<WebhookHttpOptions> = {},
  parts: ConstructorParameters<typeof WebhookHttp>[1] = {},
) {
  const made = new WebhookHttp({ ...OPTIONS, ...options }, parts);
  t.teardown(() => made[Symbol.asyncDispose]());
  return made;
}

t.test('posts the body with its headers, and says what was answered', async (t) => {
  const received: unknown[] = [];
  const server = await remoteServer(t, async (request, response) => {
    const { method, url, headers } = request;
    received.push([method, url, headers['content-type'], headers['webhook-id'], await text(request)]);
    response.writeHead(received.length === 1 ? 204 : 500).end(received.length === 1 ? undefined : 'no');
  });
  const post = () => sender(t).post(server.url('/hook?a=%20b'), '{"a":"ü"}', HEADERS, signal);
  t.strictSame(await post(), { kind: 'answered', status: 204 });
  t.strictSame(await post(), { kind: 'answered', status: 500 });
  const sent = ['POST', '/hook?a=%20b', 'application/json', 'msg_1', '{"a":"ü"}'];
  t.strictSame(received, [sent, sent]);
});

t.test('a redirect is not followed', async (t) => {
  const server = await remoteServer(t, (request, response) => {
    request.resume();
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  t.strictSame(await sender(t).post(server.url('/hook'), '{}', HEADERS, signal), { kind: 'answered', status: 307 });
  t.strictSame(server.asked, ['/hook']);
});

t.test('nothing is sent to an address that is not public, however it is written', async (t) => {
  const server = await remoteServer(t, (_request, response) => void response.end());
  const inside: Record<string, string> = { 'inside.example': '10.0.0.1', 'mixed.example': '127.0.0.1' };
  const resolve = async (name: string): Promise<readonly LookupAddress[]> => {
    const address = inside[name];
    if (address === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return [
      { address: '93.184.216.34', family: 4 },
      { address, family: 4 },
    ];
  };
  const closed = sender(t, { allow: [] }, { resolve });
  for (const host of [
    '127.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '169.254.169.254',
    '2130706433',
    'inside.example',
    'mixed.example',
    'absent.example',
  ]) {
    const url = new URL(`http://${host}:${server.port}/hook`);
    const result = await closed.post(url, '{}', HEADERS, signal);
    const { hostname } = url;
    t.strictSame(
      result,
      {
        kind: 'failed',
        message: `${hostname.replace(/^\[|\]$/g, '')} is not on the public internet at one of the ports 443, and not allowed by restService.webhooks.allow`,
      },
      host,
    );
  }
  t.strictSame(server.asked, []);
});

t.test('a receiver that does not answer is left at the deadline', async (t) => {
  const clock = new VirtualClock();
  const asked = Promise.withResolvers<void>();
  const server = await remoteServer(t, () => asked.resolve());
  const result = sender(t, {}, { clock }).post(server.url('/hook'), '{}', HEADERS, signal);
  await asked.promise;
  await clock.advance(OPTIONS.timeoutMs);
  t.strictSame(await result, { kind: 'failed', message: 'no answer within 20000 ms' });
});

t.test('of an answer whose body never ends, or is large, the status counts', async (t) => {
  const clock = new VirtualClock();
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const server = await remoteServer(t, (request, response) => {
    request.resume();
    response.on('close', closed.resolve);
    response.writeHead(200);
    if (request.url === '/large') response.end(Buffer.alloc(8 * 1024 * 1024));
    else response.write('a', () => begun.resolve());
  });
  t.strictSame(await sender(t).post(server.url('/large'), '{}', HEADERS, signal), { kind: 'answered', status: 200 });
  await closed.promise;
  const result = sender(t, {}, { clock }).post(server.url('/endless'), '{}', HEADERS, signal);
  await begun.promise;
  // The head has arrived by the time that another connection was answered.
  const other = connect(server.port, '127.0.0.1');
  await once(other, 'connect');
  other.destroy();
  await clock.advance(OPTIONS.timeoutMs);
  t.match(await result, { kind: /answered|failed/ });
});

t.test('a closed port is a failure, and an abort rejects', async (t) => {
  const server = await remoteServer(t, () => undefined);
  const asking = new AbortController();
  const hanging = sender(t).post(server.url('/hook'), '{}', HEADERS, asking.signal);
  const reason = aborted('stop');
  asking.abort(reason);
  await t.rejects(hanging, reason);
  t.match(await sender(t).post(new URL('http://127.0.0.1:1/'), '{}', HEADERS, signal), {
    kind: 'failed',
    message: /ECONNREFUSED/,
  });
});
