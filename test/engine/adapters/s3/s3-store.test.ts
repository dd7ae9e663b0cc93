// Against a server that speaks as S3 stores do; the stack suite has a real one.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { S3Connection } from '../../../../engine/adapters/s3/s3-connection.ts';
import { UnfinishedUploads } from '../../../../engine/adapters/s3/s3-store.ts';
import type { Logger } from '../../../../engine/runtime/log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const signal = new AbortController().signal;
const HOUR_MS = 3_600_000;

interface Unfinished {
  readonly key: string;
  readonly id: string;
  readonly initiated: Date;
}

/** A store that lists two uploads a page, and can be told to refuse. */
async function setup(t: Test, uploads: Unfinished[]) {
  const lists: (string | null)[] = [];
  const state = { refuses: false };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    const key = decodeURIComponent(url.pathname).replace('/bucket/', '');
    request.resume();
    if (state.refuses) return void response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
    if (request.method === 'DELETE') {
      const at = uploads.findIndex((one) => one.key === key && one.id === url.searchParams.get('uploadId'));
      if (at >= 0) uploads.splice(at, 1);
      return void response.writeHead(at < 0 ? 404 : 204).end();
    }
    const after = url.searchParams.get('key-marker');
    lists.push(after);
    const left = uploads.filter((one) => one.key > (after ?? ''));
    const page = left.slice(0, 2);
    const listed = page.map(
      (one) =>
        `<Upload><Key>${one.key}</Key><UploadId>${one.id}</UploadId><Initiated>${one.initiated.toISOString()}</Initiated></Upload>`,
    );
    const last = page.at(-1);
    const next = `<NextKeyMarker>${last?.key ?? ''}</NextKeyMarker><NextUploadIdMarker>${last?.id ?? ''}</NextUploadIdMarker>`;
    const truncated = `<IsTruncated>${left.length > 2}</IsTruncated>`;
    response.end(
      `<?xml version="1.0"?><ListMultipartUploadsResult>${truncated}${next}${listed.join('')}</ListMultipartUploadsResult>`,
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const clock = new VirtualClock(Date.UTC(2026, 0, 10));
  const keys = { accessKey: 'planted-access', secretKey: 'planted-secret' };
  const connection = new S3Connection(
    { host: '127.0.0.1', port, bucket: 'bucket', ...keys, tls: undefined, region: 'eu', pathStyle: true },
    { clock },
  );
  t.teardown(() => connection[Symbol.dispose]());
  const said: object[] = [];
  const say = (fields: object): void => void said.push(fields);
  const unfinished = new UnfinishedUploads(connection, { info: say, warn: say } as unknown as Logger);
  return { clock, lists, said, state, unfinished };
}

const upload = (key: string, hoursAgo: number): Unfinished => ({
  ...{ key, id: `${key}+/=` },
  initiated: new Date(Date.UTC(2026, 0, 10) - hoursAgo * HOUR_MS),
});

t.test('uploads of more than a day ago are removed from every page, younger ones stay', async (t) => {
  const uploads = [upload('a', 25), upload('b', 23), upload('c', 23), upload('d', 400), upload('e', 25)];
  const { said, unfinished } = await setup(t, uploads);
  await unfinished.sweep(signal);
  t.strictSame(
    uploads.map(({ key }) => key),
    ['b', 'c'],
  );
  t.strictSame(said, [{ uploads: 3 }]);
});

t.test('they are looked for once an hour, and nothing is said when there are none', async (t) => {
  const { clock, lists, said, unfinished } = await setup(t, [upload('a', 1)]);
  for (let n = 0; n < 3; n++) await unfinished.sweep(signal);
  t.equal(lists.length, 1);
  await clock.advance(HOUR_MS);
  await unfinished.sweep(signal);
  t.equal(lists.length, 2);
  t.strictSame(said, []);
});

t.test('a store that does not allow it is told of, and holds nobody up', async (t) => {
  const uploads = [upload('a', 25)];
  const { clock, said, state, unfinished } = await setup(t, uploads);
  state.refuses = true;
  await unfinished.sweep(signal);
  t.match(said, [{ reason: /listing unfinished uploads/ }]);
  state.refuses = false;
  await clock.advance(HOUR_MS);
  await unfinished.sweep(signal);
  t.strictSame(uploads, []);
});
