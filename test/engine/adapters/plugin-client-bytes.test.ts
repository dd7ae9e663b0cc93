// What our plugin client puts on the wire, byte by byte: the shapes that plugin servers know from other installers.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { PluginHttp } from '../../../engine/adapters/plugin-http.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import { serialiseMetadata } from '../../../engine/model/metadata.ts';
import { PLUGIN_TARGET, PLUGIN_TYPE, pluginMetadata, textFile } from '../../conformance/plugin-client.ts';
import { CALL_SHAPES, JSON_TYPE, shapeOf } from '../../fixtures/java-plugin-client.ts';

const signal = new AbortController().signal;
const SCRIPT_MS = { import: 10_000, installData: 10_000, installMeta: 10_000, uninstall: 10_000 };
const PAYLOAD = textFile('any.zip', 'PK...');
const PROPERTIES = [textFile('genes.tsv', 'of genes'), textFile('größe 2.tsv', 'x\r\n--y')];

/** A plugin server that reads bytes, as many as were announced, and says 200. */
async function setup(t: Test) {
  const requests: Buffer[] = [];
  const server = createServer((socket) => {
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
  return { client, call, requests, port, metadata: pluginMetadata('A name', true), dir: t.testdir({}) };
}

/** Head lines and body of a request. */
function split(request: Buffer | undefined): { readonly head: readonly string[]; readonly body: string } {
  const text = request?.toString('utf8') ?? '';
  const end = text.indexOf('\r\n\r\n');
  return { head: text.slice(0, end).split('\r\n'), body: text.slice(end + 4) };
}

t.test('multipart calls have the parts, file names and types of other installers', async (t) => {
  const { client, call, requests, metadata, dir, port } = await setup(t);
  const manifest = '{"rawUploads":[]}';
  await client.import({ ...call, metadata, payload: PAYLOAD, replyFile: join(dir, 'reply.zip') }, signal);
  await client.installData({ ...call, metadata, manifest, payload: PAYLOAD, properties: PROPERTIES }, signal);
  await client.installMeta({ ...call, metadata, properties: PROPERTIES }, signal);
  t.strictSame(Object.fromEntries(requests.map(shapeOf).map(({ path, parts }) => [path, parts])), CALL_SHAPES);

  const { head, body } = split(requests[1]);
  const boundary = /boundary=(\S+)$/.exec(head.find((line) => /^content-type:/i.test(line)) ?? '')?.[1] ?? '';
  t.strictSame(head.map((line) => line.toLowerCase()).sort(), [
    'connection: close',
    `content-length: ${Buffer.byteLength(body)}`,
    `content-type: multipart/form-data; boundary=${boundary}`,
    `host: 127.0.0.1:${port}`,
    'post /install/data http/1.1',
  ]);
  const field = (name: string, content: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${JSON_TYPE}\r\n\r\n${content}\r\n`;
  const file = (name: string, fileName: string, type: string, content: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`;
  t.equal(
    body,
    field('details', '{"event-id":131071,"vdi-id":"ds1","install-target":"AlphaDB"}') +
      field('meta', serialiseMetadata(metadata)) +
      field('manifest', manifest) +
      file('payload', 'install-ready.zip', 'application/zip', 'PK...') +
      file('dataProperties', 'genes.tsv', 'application/octet-stream', 'of genes') +
      file('dataProperties', 'größe 2.tsv', 'application/octet-stream', 'x\r\n--y') +
      `--${boundary}--\r\n`,
  );
});

t.test('details and bodies have the fields of other installers, and numbers that fit', async (t) => {
  const { client, call, requests, metadata, dir } = await setup(t);
  await client.import({ ...call, metadata, payload: PAYLOAD, replyFile: join(dir, 'reply.zip') }, signal);
  await client.installMeta({ ...call, metadata, properties: [] }, signal);
  await client.uninstall({ ...call, type: PLUGIN_TYPE }, signal);
  const detailsOf = (request: Buffer | undefined): string =>
    /name="details"\r\n.*\r\n\r\n([\s\S]*?)\r\n--/.exec(split(request).body)?.[1] ?? '';
  const [imported, meta, removed] = requests;
  const document = serialiseMetadata(metadata);
  t.match(document, /"owner": 9223372036854775807,/);
  t.equal(detailsOf(imported), `{"event-id":131071,"vdi-id":"ds1","job-id":65535,"meta":${document}}`);
  t.equal(detailsOf(meta), `{"event-id":131071,"vdi-id":"ds1","install-target":"AlphaDB","meta":${document}}`);
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
