import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import type { ObjectInfo, ObjectStore } from '../../../engine/ports/object-store.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { objectListingRoute } from '../../../http/installer/admin/object-listing.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';

const PATH = '/admin/reports/object-store/list-all';
const modified = new Date('2026-01-02T03:04:05.678Z');
const object = (key: string, size = 3): ObjectInfo => ({ key, size, etag: 'e', modified });

async function setup(t: Test, list: ObjectStore['list']) {
  const server = await listen(t, [objectListingRoute({ store: { list } })]);
  const url = `http://127.0.0.1:${server.port}${PATH}`;
  return { port: server.port, get: () => fetch(url, { headers: { 'admin-token': ADMIN_TOKEN } }) };
}

t.test('every object is a line: key, size, time', async (t) => {
  const { get } = await setup(t, async function* (prefix, options) {
    t.strictSame([prefix, options], ['', {}]);
    yield object('1/a/vdi-meta.json', 0);
    yield object('reports/größe 7', 2 ** 40);
    yield object('odd\tkey\\of\r\nlines');
  });
  const response = await get();
  t.equal(response.status, 200);
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.strictSame((await response.text()).split('\n'), [
    '1/a/vdi-meta.json\t0\t2026-01-02T03:04:05.678Z',
    'reports/größe 7\t1099511627776\t2026-01-02T03:04:05.678Z',
    'odd\\tkey\\\\of\\r\\nlines\t3\t2026-01-02T03:04:05.678Z',
    '',
  ]);
});

t.test('an empty store is an empty text, and one that does not answer is no listing', async (t) => {
  const empty = await (await setup(t, async function* () {})).get();
  t.strictSame([empty.status, await empty.text()], [200, '']);
  // biome-ignore lint/correctness/useYield: it fails before the first.
  const { get } = await setup(t, async function* () {
    throw transient('the store is away');
  });
  const away = await get();
  t.equal(away.status, 503);
  t.match(await away.json(), { status: 'server-error' });
});

t.test('a listing that fails in the middle does not look complete', async (t) => {
  const { get } = await setup(t, async function* () {
    for (let n = 0; n < 5_000; n++) yield object(`7/dataset/raw/${n}`);
    throw transient('the store is away');
  });
  await t.rejects(
    get().then((response) => response.text()),
    'the answer is cut off',
  );
});

t.test('what nobody reads is not listed', async (t) => {
  let listed = 0;
  let ended = (): void => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const TOTAL = 2_000_000;
  const { port } = await setup(t, async function* () {
    try {
      for (; listed < TOTAL; listed++) yield object(`7/dataset/documents/${'x'.repeat(100)}${listed}`);
    } finally {
      ended();
    }
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${PATH} HTTP/1.1\r\nHost: x\r\nAdmin-Token: ${ADMIN_TOKEN}\r\n\r\n`);
  await once(socket, 'readable');
  t.match(String(socket.read(17)), /HTTP\/1.1 200/);
  // Nothing is read from here on: what has been listed fits into the buffers between.
  socket.destroy();
  await end;
  t.ok(listed < TOTAL / 2, `${listed} of ${TOTAL}`);
});
