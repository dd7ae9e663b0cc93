// POST /datasets with `url`, against a real server that stands elsewhere.

import t, { type Test } from 'tap';
import type { Resolve } from '../../../engine/adapters/remote/fetchable-addresses.ts';
import { RemoteHttp } from '../../../engine/adapters/remote/remote-http.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { LOOPBACK, type RemoteAnswer, type RemoteServer, remoteServer } from '../../support/remote-server.ts';
import type { Answer } from '../numbered-callers.ts';
import { soundDetails } from './installation.ts';
import { type App, detailsPart, installerApp, MIB, NOTHING, post, remains } from './installer-app.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

interface Setup {
  readonly app: App;
  readonly server: RemoteServer;
  send(url: URL | string, details?: object): Promise<Answer>;
  /** What is left of what was sent. */
  kept(): Promise<object>;
}

async function setup(t: Test, answer: RemoteAnswer, allow = [LOOPBACK], resolve?: Resolve): Promise<Setup> {
  const remoteFiles = new RemoteHttp(
    { allow, ports: [80, 443], maxRedirects: 5, connectMs: 10_000, idleMs: 60_000 },
    resolve ? { resolve } : {},
  );
  t.teardown(() => remoteFiles[Symbol.asyncDispose]());
  const app = await installerApp(t, db, { remoteFiles });
  const server = await remoteServer(t, answer);
  const user = newUser();
  const send = (url: URL | string, details: object = {}) =>
    post(app, user, ['url', String(url)], detailsPart({ ...soundDetails(), ...details }));
  return { app, server, send, kept: () => remains(app, db, user) };
}
const gives =
  (headers: Record<string, string | number>): RemoteAnswer =>
  (_request, response) => {
    response.writeHead(200, headers);
    response.write('x');
  };
const faults = ({ status, body }: Answer): unknown => [status, (body as { errors?: unknown }).errors];
const urlFault = (reason: string): unknown => [422, { general: [], byKey: { url: [reason] } }];
const notPublic = (host: string): unknown =>
  urlFault(
    `leads to ${host}, which is not on the public internet at one of the ports 80, 443, and not allowed by restService.urlUploads.allow`,
  );

t.test('is accepted once a byte is there; what is announced is reserved', async (t) => {
  const { app, server, send, kept } = await setup(t, gives({ 'content-length': 90_000 }));
  const url = server.url('/genes.txt?key=1').href;
  const answer = await send(` ${url} `);
  t.equal(answer.status, 202, answer.text);
  const { datasetId } = answer.body as { datasetId: DatasetId };
  t.strictSame(await app.uploads.source(datasetId, signal), { kind: 'url', url });
  const view = await app.queries.view(datasetId, signal);
  t.equal(view?.metadata.sourceUrl, url);
  t.strictSame(server.asked, ['/genes.txt?key=1']);
  const meta = `${view?.owner}/${datasetId}/vdi-meta.json`;
  t.strictSame(app.store.keys(), [meta]);
  const reserved = 90_000 + Buffer.byteLength(app.store.text(meta) ?? '');
  t.strictSame(await kept(), { uploads: 1, datasets: 1, reserved, objects: [meta] });
});

t.test('is 424 when nothing can be fetched, with a hint where the link looks expired', async (t) => {
  const { server, send, kept } = await setup(t, (request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    const location = `${url.pathname}?${Number(url.searchParams.get('n')) + 1}`;
    if (url.pathname === '/empty.txt') response.writeHead(200).end();
    else if (url.pathname === '/loop.txt') response.writeHead(302, { location }).end();
    else response.writeHead(403).end('<Error>Request has expired</Error>');
  });
  for (const [path, said] of [
    ['/genes.txt', 'answered 403 (Forbidden)'],
    [
      '/genes.txt?X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-Signature=s',
      'answered 403 (Forbidden); this looks like a signed link that has expired: create a new one',
    ],
    ['/empty.txt', 'answered with an empty body'],
    ['/loop.txt', 'redirects more than 5 times'],
  ] as const) {
    const dependency = server.url(path).href;
    const { status, body } = await send(dependency);
    const message = `${dependency.replace(/\?.*/, '')} ${said}`;
    t.strictSame([status, body], [424, { status: 'failed-dependency', message, dependency }]);
  }
  const dependency = 'https://127.0.0.1:1/genes.txt';
  t.match(await send(dependency), { status: 424, body: { status: 'failed-dependency', dependency } }, 'nobody listens');
  t.strictSame(await kept(), NOTHING);
});

t.test('is 422 when it leads into our own network, by itself, by its name or by a redirect', async (t) => {
  const inside = await remoteServer(t, gives({}), '127.0.0.2');
  const resolve: Resolve = async () => [{ address: '127.0.0.2', family: 4 }];
  const { server, send, kept } = await setup(
    t,
    ({ url }, response) => {
      const location = url === '/file.txt' ? 'file:///etc/passwd' : inside.url('/').href;
      response.writeHead(302, { location }).end();
    },
    [LOOPBACK],
    resolve,
  );
  t.strictSame(faults(await send(inside.url('/genes.txt'))), notPublic('127.0.0.2'));
  t.strictSame(faults(await send(`http://2130706434:${inside.port}/genes.txt`)), notPublic('127.0.0.2'));
  t.strictSame(faults(await send(`http://[::ffff:127.0.0.2]:${inside.port}/a.txt`)), notPublic('::ffff:7f00:2'));
  t.strictSame(faults(await send(`http://data.example:${inside.port}/a.txt`)), notPublic('data.example'));
  t.strictSame(faults(await send(server.url('/genes.txt'))), notPublic('127.0.0.2'));
  t.strictSame(
    faults(await send(server.url('/file.txt'))),
    urlFault('redirects to one that starts with file:; only http and https are allowed'),
  );
  t.strictSame(
    faults(await send('http://me:secret@example.org/a.txt')),
    urlFault('contains a user name or password, which is not allowed'),
  );
  t.strictSame(inside.asked, []);
  t.strictSame(await kept(), NOTHING);
});

t.test('is refused for its name or size like a file, as far as the server tells them', async (t) => {
  const { send, server, kept } = await setup(t, (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    gives({
      'content-length': searchParams.get('size') ?? '1',
      'content-disposition': `attachment; filename="${searchParams.get('name')}"`,
    })(request, response);
  });
  t.strictSame(
    faults(await send(server.url('/genes.txt?name=a.exe'))),
    urlFault("'a.exe' has the wrong extension; genelist:1.0 allows .txt, .csv, .zip, .tar.gz, .tgz"),
  );
  t.strictSame(
    faults(await send(server.url('/genes.txt?name=a.txt&size=100001'))),
    urlFault("'a.txt' has 100001 bytes; a file of genelist:1.0 may have 100000"),
  );
  t.match(await send(server.url(`/x?name=a.zip&size=${2 * MIB + 1}`)), {
    status: 400,
    body: {
      status: 'bad-request',
      message: `the upload has ${2 * MIB + 1} bytes; an upload may have ${2 * MIB}`,
    },
  });
  t.strictSame(await kept(), NOTHING);
});

t.test('is refused when the quota has no room for what is announced', async (t) => {
  const { app, send, server, kept } = await setup(t, gives({ 'content-length': 2 * MIB - 4_096 }));
  const url = server.url('/genes.zip');
  t.equal((await send(url)).status, 202);
  t.equal((await send(url)).status, 202);
  const before = await kept();
  const objects = app.store.keys();
  t.match(await send(url), {
    status: 400,
    body: {
      status: 'bad-request',
      message: /^the upload has \d+ bytes; of your storage quota of 4194304 bytes, \d+ are used and \d{4} are left$/,
    },
  });
  t.match(before, { uploads: 2, datasets: 2, objects });
  t.strictSame(await kept(), before);
});

t.test('nothing is asked of what is no http or https URL', async (t) => {
  const { send, server, kept } = await setup(t, gives({}));
  for (const url of ['ftp://example.org/a.txt', 'no address', 'file:///etc/passwd'])
    t.strictSame(faults(await send(url)), urlFault(`is '${url}'; expected an http or https URL`));
  t.strictSame(faults(await send('http://a')), urlFault("is 'http://a'; expected at least 10 characters"));
  t.strictSame(faults(await send(server.url('/a.txt'), { name: 'ab' })), [
    422,
    { general: [], byKey: { name: ['has 2 characters; text of 3 to 1024 characters is required'] } },
  ]);
  t.strictSame(server.asked, [], 'nor when the metadata is at fault already');
  t.strictSame(await kept(), NOTHING);
});
