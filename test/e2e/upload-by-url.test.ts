// Uploads by URL on the running program: refused as it comes, taken where the operator allows the address, and
// finished after a kill -9 in the middle of a transfer. The other server decides where that is: it holds the body back.

import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { Api, detailsOf, formOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, type Up, up } from '../support/longshore.ts';
import { LOOPBACK, remoteServer } from '../support/remote-server.ts';
import { unzip } from '../support/unzip.ts';

const USER = '21';
/** More than the buffers of a connection take, so that half of it cannot be sent unless somebody reads. */
const CONTENT = randomBytes(48 * 1024 * 1024);
const HALF = CONTENT.length / 2;

/** Requests that hold the second half of the content back. */
const held: { readonly at: number; readonly reached: () => void }[] = [];
let requests = 0;
const elsewhere = await remoteServer(t, (request, response) => {
  if (request.url?.startsWith('/expired.bin')) return void response.writeHead(403).end();
  response.writeHead(200, {
    'content-length': CONTENT.length,
    'content-disposition': 'attachment; filename="data.bin"',
  });
  requests++;
  const hold = held.find(({ at }) => at === requests);
  if (hold) sendHalf(response, hold.reached);
  else response.end(CONTENT);
});
const sendHalf = (response: ServerResponse, reached: () => void): void =>
  void response.write(CONTENT.subarray(0, HALF), (error) => !error && reached());

const dir = await tempDir(t);
const base = String(await freePortBase());
const url = elsewhere.url('/download?id=7').href;
const form = (from: string) => formOf(detailsOf('lightweight'), [], from);
const apiOf = async (app: Up) => new Api(app.endpoints.installer, await app.token(USER));
const send = [
  'upload',
  '--type',
  'lightweight@1.0',
  '--target',
  'AlphaDB',
  '--name',
  'By URL',
  '--summary',
  'From there',
];

t.test('nothing is fetched from this machine unless it is allowed', async (t) => {
  const app = await up(t, dir, ['--port-base', base]);
  const api = await apiOf(app);
  const fault = (host: string): string =>
    `leads to ${host}, which is not on the public internet at one of the ports 80, 443, 8080, 8443, and not allowed by restService.urlUploads.allow`;
  for (const [given, host] of [
    [url, '127.0.0.1'],
    [url.replace('127.0.0.1', '[::ffff:127.0.0.1]'), '::ffff:7f00:1'],
    [url.replace('127.0.0.1', 'localhost'), 'localhost'],
  ] as const) {
    const response = await api.post(form(given));
    const errors = { general: [], byKey: { url: [fault(host)] } };
    t.match([response.status, await response.json()], [422, { status: 'invalid-input', errors }], given);
  }
  const told = await longshore([...send, '--url', url, '--data', dir, '--user', USER]);
  t.equal(told.code, 1);
  t.match(told.stderr, fault('127.0.0.1'));
  t.equal(requests, 0);
  t.same(await api.json('/datasets'), []);
  await app.stop();
});

t.test('where it is allowed, an upload is fetched, and finished after a kill -9 in the middle', async (t) => {
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as { installer: Record<string, unknown> };
  config.installer.restService = { urlUploads: { allow: [LOOPBACK] } };
  await writeFile(file, stringify(config));

  const first = await up(t, dir, ['--port-base', base]);
  const expired = `${elsewhere.url('/expired.bin').href}?Expires=1700000000&Signature=s`;
  const refused = await (await apiOf(first)).post(form(expired));
  t.same(
    [refused.status, await refused.json()],
    [
      424,
      {
        status: 'failed-dependency',
        message: `${elsewhere.url('/expired.bin').href} answered 403 (Forbidden); this looks like a signed link that has expired: create a new one`,
        dependency: expired,
      },
    ],
  );
  const sent = await longshore([...send, '--url', url, '--watch', '--data', dir, '--user', USER]);
  t.equal(sent.code, 0, sent.stderr);
  t.equal(requests, 2, 'tried, then fetched');

  const { promise: halfway, resolve: reached } = Promise.withResolvers<void>();
  held.push({ at: 4, reached });
  const accepted = await (await apiOf(first)).post(form(url));
  t.equal(accepted.status, 202);
  const { datasetId: id } = (await accepted.json()) as { datasetId: string };
  await halfway;
  await first.crash();

  const again = await up(t, dir, ['--port-base', base]);
  const watched = await longshore(['watch', id, '--data', dir, '--user', USER]);
  t.equal(watched.stdout, 'installed\n', watched.stderr);
  t.equal(requests, 5, 'fetched from the beginning');
  const api = await apiOf(again);
  const undisturbed = sent.stdout.split('\n')[0] ?? '';
  for (const dataset of [undisturbed, id]) {
    t.match(await api.json(`/datasets/${dataset}`), {
      sourceUrl: url,
      status: { upload: { status: 'success' }, import: { status: 'complete' } },
      files: { upload: { contents: [{ fileName: 'data.bin', fileSize: CONTENT.length }] } },
    });
    const zip = await unzip(await api.bytes(`/datasets/${dataset}/files/upload`));
    t.same([...zip.keys()], ['data.bin']);
    t.ok(zip.get('data.bin')?.equals(CONTENT), 'every byte is there');
    t.same((await readdir(join(dir, 'objects', 'objects', USER, dataset), { recursive: true })).sort(), [
      'import-ready.zip',
      'install-ready.zip',
      'vdi-manifest.json',
      'vdi-meta.json',
    ]);
  }
  await again.stop();
});
