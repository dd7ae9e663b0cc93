// Webhooks of the running program, to receivers of every kind: sound, failing, hanging, redirecting, away and back, private, and one
// during which the program is killed. The receivers check signatures with the library that we recommend.

import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, type Up, up } from '../support/longshore.ts';
import { LOOPBACK } from '../support/remote-server.ts';

const [USER, OTHER] = ['31', '32'];
const FILE = { name: 'data.bin', content: 'some bytes' };

interface Message {
  readonly id: string;
  readonly type: string;
  readonly datasetId: string;
}

type Answer = (response: ServerResponse, request: IncomingMessage, nth: number) => void;
const ok: Answer = (response) => void response.writeHead(204).end();

/** A receiver that notes every request, and of which signed messages it has accepted. */
class Receiver {
  readonly requests: string[] = [];
  readonly accepted: Message[] = [];
  answer: Answer;
  secret = '';
  #server: Server | undefined;
  #port = 0;
  #waiting: (() => void)[] = [];

  constructor(answer: Answer = ok) {
    this.answer = answer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  async open(t: Test, host = '127.0.0.1'): Promise<this> {
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.listen(this.#port, host);
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    t.teardown(() => this.close());
    return this;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** Resolves once the condition holds; looked at after each request. */
  async until(isMet: () => boolean): Promise<void> {
    while (!isMet()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const headers = request.headers as Record<string, string>;
    this.requests.push(headers['webhook-id'] ?? '');
    response.on('finish', () => {
      if (response.statusCode < 200 || response.statusCode > 299) return;
      const { type, data } = new Webhook(this.secret).verify(body, headers) as { type: string; data: Message };
      this.accepted.push({ id: headers['webhook-id'] ?? '', type, datasetId: data.datasetId });
      this.#wake();
    });
    this.answer(response, request, this.requests.length);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const dir = await tempDir(t);
const base = ['--port-base', String(await freePortBase())];
await (await up(t, dir, base)).stop();
const file = join(dir, 'config.yaml');
const config = parse(await readFile(file, 'utf8')) as { installer: Record<string, unknown> };
const retry = { attempts: 100, base: '10ms', max: '100ms' };
config.installer.restService = {
  webhooks: { enabled: true, allowHttp: true, allow: [LOOPBACK], timeout: '3s', retry },
};
await writeFile(file, stringify(config), { mode: 0o600 });
let app: Up = await up(t, dir, base);
let [api, other] = await clients();

async function clients(): Promise<[Api, Api]> {
  const { installer } = app.endpoints;
  return [new Api(installer, await app.token(USER)), new Api(installer, await app.token(OTHER))];
}

async function subscribe(receiver: Receiver, by = api, url = receiver.url): Promise<string> {
  const response = await by.call('POST', '/webhooks', { url });
  const { webhookId, secret } = (await response.json()) as { webhookId: string; secret: string };
  receiver.secret = secret;
  return webhookId;
}
const upload = () => api.upload(detailsOf('lightweight'), [FILE]);
const typesOf = (receiver: Receiver, dataset: string): readonly string[] =>
  [...new Map(receiver.accepted.map((message) => [message.id, message])).values()]
    .filter(({ datasetId }) => datasetId === dataset)
    .map(({ type }) => type)
    .toSorted();
const WHOLE = ['dataset.accepted', 'dataset.import-ended', 'dataset.installed'];
const whole = (receiver: Receiver, dataset: string) => () => typesOf(receiver, dataset).length === WHOLE.length;
const shown = async (id: string) => (await api.json(`/webhooks/${id}`)) as { state: string; last: object };

t.test('each receiver gets each event of its owner, signed, however it behaves', async (t) => {
  const trap = await new Receiver().open(t);
  const sound = await new Receiver().open(t);
  const failing = await new Receiver((response, _request, nth) => {
    response.writeHead(nth <= 4 ? 500 : 200).end('no matter what');
  }).open(t);
  // Never answers the first request, and only begins to answer the second one.
  const hanging = await new Receiver((response, request, nth) => {
    if (nth === 2) response.writeHead(500).write('.');
    else if (nth > 2) ok(response, request, nth);
  }).open(t);
  const redirecting = await new Receiver((response) => {
    response.writeHead(307, { location: trap.url }).end();
  }).open(t);
  const inside = await new Receiver().open(t, '127.0.0.2');
  const strange = await new Receiver().open(t);
  for (const receiver of [sound, failing, hanging]) await subscribe(receiver);
  const redirected = await subscribe(redirecting);
  const refused = await subscribe(inside, api, inside.url.replace('127.0.0.1', '127.0.0.2'));
  await subscribe(strange, other);
  const test = (await (await api.call('POST', `/webhooks/${refused}/test`)).json()) as { messageId: string };
  const dataset = await upload();
  for (const receiver of [sound, failing, hanging]) {
    await receiver.until(whole(receiver, dataset));
    t.strictSame(typesOf(receiver, dataset), WHOLE);
  }
  await redirecting.until(() => redirecting.requests.length >= 3);
  t.match(await shown(redirected), {
    state: 'active',
    last: { result: 'failed', status: 307, message: 'answered 307; redirects are not followed' },
  });
  const { results } = (await api.json(`/webhooks/${refused}/deliveries`)) as { results: object[] };
  const message = /^127\.0\.0\.2 is not on the public internet .* not allowed by restService\.webhooks\.allow$/;
  t.match(
    results.find((one) => 'messageId' in one && one.messageId === test.messageId),
    { type: 'webhook.test', state: 'dead', message },
  );
  t.strictSame([trap.requests, inside.requests, strange.requests], [[], [], []]);
  t.notMatch(app.printed(), /whsec_/);
});

t.test('a receiver that was away gets what happened meanwhile', async (t) => {
  const receiver = await new Receiver().open(t);
  const sound = await new Receiver().open(t);
  const id = await subscribe(receiver);
  await subscribe(sound);
  receiver.close();
  const dataset = await upload();
  await sound.until(whole(sound, dataset));
  t.match(await shown(id), { state: 'active' });
  await receiver.open(t);
  await receiver.until(whole(receiver, dataset));
  t.strictSame(typesOf(receiver, dataset), WHOLE);
});

t.test('a receiver that answers 410 is left alone', async (t) => {
  const gone = await new Receiver((response) => void response.writeHead(410).end()).open(t);
  const sound = await new Receiver().open(t);
  const id = await subscribe(gone);
  await api.call('POST', `/webhooks/${id}/test`);
  await gone.until(() => gone.requests.length > 0);
  await subscribe(sound);
  const dataset = await upload();
  await sound.until(whole(sound, dataset));
  t.match(await shown(id), { state: 'disabled', reason: 'the receiver answered 410 Gone' });
  t.equal(gone.requests.length, 1);
});

t.test('what was being sent when the program was killed is sent again, with the same id', async (t) => {
  const held = await new Receiver(() => undefined).open(t);
  await subscribe(held);
  const dataset = await upload();
  await held.until(() => held.requests.length > 0);
  const [first] = held.requests;
  await app.crash();
  held.answer = ok;
  app = await up(t, dir, base);
  [api, other] = await clients();
  await held.until(whole(held, dataset));
  t.strictSame(typesOf(held, dataset), WHOLE);
  t.ok(
    held.accepted.some(({ id }) => id === first),
    'the interrupted message too',
  );
});
