import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { PluginHttp, type PluginHttpOptions } from '../../../../engine/adapters/plugins/plugin-http.ts';
import { connectionFailure } from '../../../../engine/adapters/plugins/plugin-http-replies.ts';
import { changeTimes, readTimes, shareTimes } from '../../../../engine/adapters/plugins/shared-times.ts';
import type { DatasetId } from '../../../../engine/model/ids.ts';
import { stringifyJson } from '../../../../engine/model/json.ts';
import { metadataDocument } from '../../../../engine/model/metadata.ts';
import { SCRIPT_RAN } from '../../../../engine/ports/plugin-client.ts';
import {
  PLUGIN_TARGET,
  PLUGIN_TYPE,
  pluginClientConformance,
  pluginMetadata,
  textFile,
} from '../../../conformance/plugin-client.ts';
import { type FakeOutcome, FakePluginClient } from '../../../fakes/fake-plugin-client.ts';
import { CALL_SHAPES, JSON_TYPE, shapeOf } from '../../../fixtures/java-plugin-client.ts';
import { serveHost } from '../../../http/plugin-host/host-server.ts';
import { freePort } from '../../../support/ports.ts';

const signal = new AbortController().signal;
const SCRIPT_MS = { import: 10_000, installData: 10_000, installMeta: 10_000, uninstall: 10_000 };

t.test('the fake', (t) => {
  pluginClientConformance(t, async () => {
    const { promise: busy, resolve } = Promise.withResolvers<void>();
    const success = { basic: ['one line was odd'], community: ['für alle λ'] };
    const client = new FakePluginClient(({ kind, dataset }, signal): FakeOutcome | Promise<undefined> => {
      const refusal = {
        import: { basic: ['no such gene'], community: ['the list is old'] },
        installData: { basic: ['rows do not fit'], community: [] },
        installMeta: { basic: ['name is taken'], community: [] },
        installFiles: { basic: [], community: [] },
        uninstall: { basic: [], community: [] },
        uninstallFiles: { basic: [], community: [] },
      }[kind];
      if (dataset.startsWith('slow')) {
        resolve();
        return once(signal, 'abort').then(() => undefined);
      }
      if (dataset.startsWith('broken')) return { kind: 'script-error', message: 'exit code 3' };
      if (dataset.startsWith('stuck') && kind === 'uninstall') return { kind: 'script-error', message: 'exit code 7' };
      if (dataset.startsWith('invalid')) return { kind: 'invalid', validation: refusal };
      if (dataset.startsWith('missing'))
        return { kind: 'missing-dependency', messages: ['PlasmoDB-51_Genome 51 is not installed'] };
      if (kind === 'import') return { kind: 'success', validation: success };
      if (kind === 'installData') return { kind: 'success', validation: { basic: [], community: ['loaded'] } };
      return { kind: 'success' };
    });
    client.schemaOf = () => 'shared';
    return { client, busy: () => busy };
  });
  t.end();
});

t.test('HTTP', (t) => {
  pluginClientConformance(t, async (t) => {
    const { baseUrl, host } = await serveHost(t, {
      routes: { token: 'host-secret' },
      host: (options) => ({
        ...options,
        targets: options.targets.map((target) => ({ ...target, dataSchema: 'shared' })),
      }),
    });
    const client = new PluginHttp({ baseUrl, token: 'host-secret', scriptMs: SCRIPT_MS });
    t.teardown(() => client[Symbol.asyncDispose]());
    const busy = async (): Promise<void> => {
      while (host.load.scripts === 0) await client.probe(signal);
    };
    return { client, busy };
  });
  t.end();
});

interface Seen {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A plugin server of one's own; `answer` sees each request whole. */
async function setup(
  t: Test,
  answer: (seen: Seen, response: ServerResponse) => unknown,
  options: Partial<PluginHttpOptions> = {},
) {
  const server = createServer(async (request, response) => {
    const body = await readAll(request);
    await answer({ path: request.url ?? '', headers: request.headers, body }, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new PluginHttp({ baseUrl, scriptMs: SCRIPT_MS, ...options });
  t.teardown(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const dir = t.testdir();
  const call = { eventId: 65_539, dataset: 'ds1' as DatasetId };
  const metadata = pluginMetadata('A name');
  const imported = () =>
    client.import(
      { ...call, metadata, payload: textFile('x.zip', 'PK...'), replyFile: join(dir, 'reply.zip') },
      signal,
    );
  const installed = () =>
    client.installData(
      {
        ...call,
        target: PLUGIN_TARGET,
        metadata,
        manifest: '{"rawUploads":[]}',
        payload: textFile('x.zip', 'PK...'),
        properties: [],
      },
      signal,
    );
  const removed = () => client.uninstall({ ...call, target: PLUGIN_TARGET, type: PLUGIN_TYPE }, signal);
  return { client, dir, imported, installed, removed };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const json = (response: ServerResponse, code: number, body: unknown): void => {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

/** A plugin server that reads bytes, as many as were announced, and says 200. */
async function bytesOf(t: Test) {
  const requests: Buffer[] = [];
  const server = createTcpServer((socket) => {
    let received = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n\r\n') + 4;
      const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(received.subarray(0, end).toString('latin1')) ?? [];
      if (end < 4 || received.length < end + Number(length)) return;
      requests.push(received);
      received = Buffer.alloc(0);
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: 2\r\n\r\n{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new PluginHttp({ baseUrl: `http://127.0.0.1:${port}`, scriptMs: SCRIPT_MS });
  t.teardown(async () => {
    await client[Symbol.asyncDispose]();
    server.close();
  });
  const call = { eventId: 131_071, dataset: 'ds1' as DatasetId, target: PLUGIN_TARGET };
  const payload = textFile('any.zip', 'PK...');
  const imported = { payload, replyFile: join(t.testdir({}), 'reply.zip') };
  return { client, call, requests, port, metadata: pluginMetadata('A name', true), payload, imported };
}

/** Head lines and body of a request. */
function split(request: Buffer | undefined): { readonly head: readonly string[]; readonly body: string } {
  const text = request?.toString('utf8') ?? '';
  const end = text.indexOf('\r\n\r\n');
  return { head: text.slice(0, end).split('\r\n'), body: text.slice(end + 4) };
}

t.test('requests have the parts, names and lengths that plugin servers expect', async (t) => {
  const { client, call, requests, metadata, payload, imported, port } = await bytesOf(t);
  const properties = [textFile('genes.tsv', 'of genes'), textFile('größe 2.tsv', 'x\r\n--y')];
  const manifest = '{"rawUploads":[]}';
  await client.import({ ...call, metadata, ...imported }, signal);
  await client.installData({ ...call, metadata, manifest, payload, properties }, signal);
  await client.installMeta({ ...call, metadata, properties }, signal);
  t.strictSame(Object.fromEntries(requests.map(shapeOf).map(({ path, parts }) => [path, parts])), CALL_SHAPES);

  const { head, body } = split(requests[1]);
  const boundary = /boundary=(\S+)$/.exec(head.find((line) => /^content-type:/i.test(line)) ?? '')?.[1] ?? '';
  t.strictSame(head.map((line) => line.toLowerCase()).sort(), [
    'connection: close',
    `content-length: ${Buffer.byteLength(body)}`,
    `content-type: multipart/form-data; boundary=${boundary}`,
    `host: 127.0.0.1:${port}`,
    'post /install/data http/1.1',
    'x-script-output: true',
  ]);
  const field = (name: string, content: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${JSON_TYPE}\r\n\r\n${content}\r\n`;
  const file = (name: string, fileName: string, type: string, content: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`;
  t.equal(
    body,
    field('details', '{"event-id":131071,"vdi-id":"ds1","install-target":"AlphaDB"}') +
      field('meta', stringifyJson(metadataDocument(metadata))) +
      field('manifest', manifest) +
      file('payload', 'install-ready.zip', 'application/zip', 'PK...') +
      file('dataProperties', 'genes.tsv', 'application/octet-stream', 'of genes') +
      file('dataProperties', 'größe 2.tsv', 'application/octet-stream', 'x\r\n--y') +
      `--${boundary}--\r\n`,
  );
});

t.test('details and bodies have the fields of other installers, and numbers that fit', async (t) => {
  const { client, call, requests, metadata, imported: into } = await bytesOf(t);
  await client.import({ ...call, metadata, ...into }, signal);
  const odd = textFile('a "quoted"\r\nname.tsv', 'p');
  await client.installMeta({ ...call, metadata, properties: [odd] }, signal);
  await client.uninstall({ ...call, type: PLUGIN_TYPE }, signal);
  const detailsOf = (request: Buffer | undefined): string =>
    /name="details"\r\n.*\r\n\r\n([\s\S]*?)\r\n--/.exec(split(request).body)?.[1] ?? '';
  const [imported, meta, removed] = requests;
  const document = stringifyJson(metadataDocument(metadata));
  t.match(document, /"owner":9223372036854775807,/);
  t.equal(detailsOf(imported), `{"event-id":131071,"vdi-id":"ds1","job-id":65535,"meta":${document}}`);
  t.equal(detailsOf(meta), `{"event-id":131071,"vdi-id":"ds1","install-target":"AlphaDB","meta":${document}}`);
  t.match(split(meta).body, 'filename="a %22quoted%22%0D%0Aname.tsv"\r\n');
  const { head, body } = split(removed);
  t.ok(
    head.some((line) => line.toLowerCase() === `content-type: ${JSON_TYPE}`),
    head.join('\n'),
  );
  t.equal(
    body,
    '{"event-id":131071,"vdi-id":"ds1","install-target":"AlphaDB","type":{"name":"testtype","version":"1.0"}}',
  );
});

t.test('the token is sent when there is one', async (t) => {
  const seen: (string | undefined)[] = [];
  const answer = ({ headers }: Seen, response: ServerResponse) => {
    seen.push(headers.authorization);
    response.end();
  };
  await (await setup(t, answer, { token: 'secret' })).removed();
  await (await setup(t, answer)).removed();
  t.same(seen, ['Bearer secret', undefined]);
});

t.test('fields that hold their default may be absent', async (t) => {
  const replies: [number, object | undefined][] = [
    [200, {}],
    [418, { basicValidation: ['a'] }],
    [420, {}],
    [555, { script: '/bin/x', message: '' }],
    [500, undefined],
    [500, { message: 'no disk' }],
  ];
  const { installed } = await setup(t, (_, response) => {
    const [code = 0, body] = replies.shift() ?? [];
    json(response, code, body);
  });
  const got = [];
  while (replies.length > 0) got.push(await installed());
  t.same(got, [
    { kind: 'success', validation: { basic: [], community: [] } },
    { kind: 'invalid', validation: { basic: ['a'], community: [] } },
    { kind: 'missing-dependency', messages: [] },
    { kind: 'script-error', message: 'script /bin/x ended with exit code 0' },
    { kind: 'server-error', message: got[4] && 'message' in got[4] ? got[4].message : '' },
    { kind: 'server-error', message: 'no disk' },
  ]);
  t.match(got[4], { message: /HTTP 500$/ });
});

t.test('codes outside the protocol are defects, those of a host that is away are transient', async (t) => {
  let code = 0;
  const { removed, imported } = await setup(t, (_, response) => json(response, code, { message: 'why' }));
  for (const [next, kind, unreachable, unanswered, maxAttempts] of [
    [201, 'defect', false, false, undefined],
    [400, 'defect', false, false, undefined],
    [401, 'defect', false, false, undefined],
    [418, 'defect', false, false, undefined],
    [502, 'transient', false, true, undefined],
    [503, 'transient', true, true, undefined],
    [504, 'transient', false, false, 3],
  ] as const) {
    code = next;
    const message = new RegExp(`HTTP ${next} .*why`);
    await t.rejects(removed(), { kind, unreachable, unanswered, maxAttempts, message });
  }
  code = 420;
  await t.rejects(imported(), { kind: 'defect', message: /HTTP 420/ });
});

t.test('a 503 after a script ran is an attempt: the call is not taken for one that did nothing', async (t) => {
  const { removed, imported } = await setup(t, (_, response) => {
    response.setHeader(SCRIPT_RAN, 'true');
    json(response, 503, { message: 'the disk is full' });
  });
  const attempt = { unreachable: false, unanswered: false, maxAttempts: undefined };
  const expected = { kind: 'transient', ...attempt, message: /HTTP 503 .*is full/ };
  await t.rejects(removed(), expected);
  await t.rejects(imported(), expected);
});

t.test('an answer that is no JSON is a defect', async (t) => {
  const { installed } = await setup(t, (_, response) => response.writeHead(418).end('<html>'));
  await t.rejects(installed(), { kind: 'defect', message: /not JSON/ });
});

t.test('a reply that is cut off, empty or endless leaves no file', async (t) => {
  const modes = ['cut', 'empty', 'endless'];
  const { imported, dir } = await setup(
    t,
    (_, response) => {
      switch (modes.shift()) {
        case 'cut':
          response.writeHead(200, { 'content-length': '1000' }).write('PK', () => response.destroy());
          break;
        case 'empty':
          response.end();
          break;
        default:
          response.write(Buffer.alloc(5_000));
      }
    },
    { maxReplyBytes: 4_000 },
  );
  const reply = join(dir, 'reply.zip');
  await mkdir(dir, { recursive: true });
  for (const expected of [
    { kind: 'transient', message: /plugin server/ },
    { kind: 'defect', message: /the reply is empty/ },
    { kind: 'defect', message: /larger than 4000 bytes/ },
  ]) {
    await writeFile(reply, 'old');
    await t.rejects(imported(), expected);
    await t.rejects(readFile(reply), { code: 'ENOENT' });
  }
});

t.test('a server that is not there is unreachable', async (t) => {
  const client = new PluginHttp({ baseUrl: `http://127.0.0.1:${await freePort()}`, scriptMs: SCRIPT_MS });
  t.teardown(() => client[Symbol.asyncDispose]());
  const call = { eventId: 1, dataset: 'ds1' as DatasetId, target: PLUGIN_TARGET, type: PLUGIN_TYPE };
  const expected = {
    kind: 'transient',
    unreachable: true,
    unanswered: true,
    maxAttempts: undefined,
    message: /not reached/,
  };
  await t.rejects(client.uninstall(call, signal), expected);
  await t.rejects(client.probe(signal), expected);
});

t.test('a server that hangs up is transient', async (t) => {
  const { removed, imported } = await setup(t, (_, response) => response.destroy());
  const expected = { kind: 'transient', unreachable: false, unanswered: true, maxAttempts: undefined };
  await t.rejects(removed(), { ...expected, message: /uninstall/ });
  await t.rejects(imported(), { ...expected, message: /import/ });
});

t.test('a server that says nothing is given up after the time of its scripts and a margin', async (t) => {
  const { removed, imported } = await setup(t, () => undefined, {
    key: 'genes',
    scriptMs: { ...SCRIPT_MS, uninstall: 50, import: 60 },
    times: { marginMs: 50 },
  });
  const expected = { kind: 'transient', unreachable: false, unanswered: false, maxAttempts: 3 };
  await t.rejects(removed(), {
    ...expected,
    message: /^plugin server genes at http:\S+\/uninstall: timeout, no response within 100 ms$/,
  });
  await t.rejects(imported(), { ...expected, message: /\/import: timeout, no response within 110 ms$/ });
});

t.test('an answer that stops in the middle is given up', async (t) => {
  const { imported } = await setup(t, (_, response) => response.writeHead(200).write('PK'), {
    times: { bodyIdleMs: 50 },
  });
  await t.rejects(imported(), {
    kind: 'transient',
    unanswered: false,
    maxAttempts: 3,
    message: /timeout, the response stalled for 50 ms$/,
  });
});

t.test('time-outs that change hold for the next call, and leave alone the one under way', async (t) => {
  const times = shareTimes({ connectMs: 10_000, bodyIdleMs: 10_000, marginMs: 10_000 });
  const asked = Promise.withResolvers<ServerResponse>();
  let calls = 0;
  const scriptMs = { ...SCRIPT_MS, uninstall: 10 };
  const { removed } = await setup(t, (_, response) => ++calls === 1 && asked.resolve(response), { scriptMs, times });
  const first = removed();
  const answer = await asked.promise;
  changeTimes(times, { connectMs: 10_000, bodyIdleMs: 10_000, marginMs: 40 });
  await t.rejects(removed(), { kind: 'transient', message: /no response within 50 ms$/ });
  answer.writeHead(200).end();
  t.strictSame(await first, { kind: 'success' });
});

t.test(
  'a thread reads the time-outs that another one changes, in whole milliseconds and within what a timer can',
  async (t) => {
    const memory = shareTimes({ connectMs: 0.2, bodyIdleMs: 60_000, marginMs: 90 * 86_400_000 });
    t.strictSame(readTimes(structuredClone(memory)), { connectMs: 1, bodyIdleMs: 60_000, marginMs: 2 ** 31 - 1 });
    const elsewhere = structuredClone(memory);
    changeTimes(memory, { connectMs: 5, bodyIdleMs: 6, marginMs: 7 });
    t.strictSame(readTimes(elsewhere), { connectMs: 5, bodyIdleMs: 6, marginMs: 7 });
  },
);

t.test('a plugin server that cannot leave rows alone says so in words that help', async (t) => {
  for (const code of [404, 405, 501]) {
    const { client } = await setup(t, (_seen, response) => response.writeHead(code).end('no such page'));
    const call = { eventId: 1, dataset: 'shared' as DatasetId, target: PLUGIN_TARGET };
    const message =
      /\/files: this plugin server does not support this call\. Targets that share a data schema need `longshore plugin`/;
    const metadata = pluginMetadata('shared');
    t.match(await client.installFiles({ ...call, source: PLUGIN_TARGET, metadata }, signal), {
      kind: 'script-error',
      message,
    });
    t.match(await client.uninstallFiles({ ...call, type: { name: 'testtype', version: '1.0' } }, signal), {
      kind: 'script-error',
      message,
    });
  }
});

t.test('a host that is lost in the middle of a call was reached', (t) => {
  const times = { headMs: 1, idleMs: 1 };
  const error = (syscall: string) =>
    Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: 'EHOSTUNREACH', syscall });
  t.match(connectionFailure(error('connect'), 'plugin', times), { kind: 'transient', unreachable: true });
  for (const syscall of ['read', 'write'])
    t.match(connectionFailure(error(syscall), 'plugin', times), { kind: 'transient', unreachable: false });
  t.end();
});
