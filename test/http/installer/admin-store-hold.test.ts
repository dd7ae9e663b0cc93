import t from 'tap';
import { WriteHold } from '../../../engine/adapters/directory/write-hold.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { cacheDatabase, engineProcess } from '../../support/engine-process.ts';
import { ADMIN_TOKEN, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const PATH = '/admin/rpc/object-store/hold';
const headers = { 'admin-token': ADMIN_TOKEN, 'content-type': 'application/json' };
const { db } = await engineProcess(t, await cacheDatabase(t));

t.test('the store is held for so many seconds, or until it is released', async (t) => {
  const clock = new VirtualClock();
  const app = await installerApp(t, db, { storeHold: new WriteHold(clock) });
  const hold = (seconds: unknown) => app.call(undefined, 'POST', PATH, { headers, body: JSON.stringify({ seconds }) });
  const release = () => app.call(undefined, 'DELETE', PATH, { headers });
  const held = await hold(30);
  t.strictSame(responseFaults(schemaOf(app.routes, 'holdObjectStore', 200), held.text), []);
  t.strictSame(held.body, { until: new Date(clock.now() + 30_000).toISOString() });
  t.match(await hold(30), { status: 503 });
  const released = await release();
  t.strictSame(responseFaults(schemaOf(app.routes, 'releaseObjectStore', 200), released.text), []);
  t.strictSame(released.body, { held: true });
  t.match(await hold(1), { status: 200 });
  await clock.advance(1_000);
  t.strictSame((await release()).body, { held: false });
  for (const wrong of [0, 61, 1.5, 'long']) t.match(await hold(wrong), { status: 422 }, String(wrong));
});

t.test('a bucket cannot be held', async (t) => {
  const app = await installerApp(t, db, { storeHold: undefined });
  for (const method of ['POST', 'DELETE'])
    t.match(
      await app.call(undefined, method, PATH, { headers, ...(method === 'POST' ? { body: '{"seconds":1}' } : {}) }),
      {
        status: 409,
        body: { message: 'the object store is a bucket; only a directory can be held' },
      },
    );
});
