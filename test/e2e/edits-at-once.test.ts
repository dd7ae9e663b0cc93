// More edits at once, of datasets of one user, than the cache database has connections in the pool of the real program.

import type { Client } from 'pg';
import t from 'tap';
import { Api, detailsOf } from '../support/api.ts';
import { tempDir, up } from '../support/longshore.ts';
import { withCache } from '../support/places.ts';
import { settled } from '../support/site-state.ts';

/** Connections of the pool for all but edits and the store's journal (`cacheDb.poolSize`). */
const POOL = 5;
const DATASETS = POOL + 2;
/** Each target is one more script for each dataset and edit. */
const DETAILS = detailsOf('lightweight', { installTargets: ['AlphaDB'] });

t.test('edits at once wait for one another, not for a connection that none of them gives up', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir);
  const api = new Api(app.endpoints.installer, await app.token('42'));
  const ids: string[] = [];
  for (let i = 0; i < DATASETS; i++) ids.push(await api.upload(DETAILS, [{ name: 'any.bin', content: 'anything' }]));
  await settled(dir);
  const changes = [
    ['PATCH', '', { name: { value: 'Other genes' } }],
    ['PUT', '/shares/43/offer', { action: 'grant' }],
    ['DELETE', '', undefined],
    ['POST', '/undelete', undefined],
  ] as const;
  for (const [method, path, body] of changes) {
    const answers = await Promise.all(ids.map((id) => api.send(method, `/datasets/${id}${path}`, body)));
    t.strictSame(answers, Array(DATASETS).fill(204), `${method} ${path}`);
  }
});

t.test('an edit needs none of the connections that lanes and listings wait with', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir);
  const api = new Api(app.endpoints.installer, await app.token('42'));
  const headers = { 'admin-token': app.endpoints.adminToken };
  const list = async () => (await fetch(`${app.endpoints.installer}/admin/reports/jobs`, { headers })).status;
  const id = await api.upload(DETAILS, [{ name: 'any.bin', content: 'anything' }]);
  await settled(dir);
  await withCache(dir, async (cache) => {
    await cache.query('begin');
    await cache.query('lock table installer.job');
    const listings = Promise.all(Array.from({ length: POOL }, list));
    await withCache(dir, (other) => untilWaiting(other, POOL));
    t.equal(await api.send('PATCH', `/datasets/${id}`, { name: { value: 'Other genes' } }), 204);
    t.equal(await api.send('DELETE', `/datasets/${id}`), 204);
    await cache.query('commit');
    t.strictSame(await listings, Array(POOL).fill(200));
  });
});

/** Not asked within a transaction, which would see what it saw first. */
async function untilWaiting(cache: Client, connections: number): Promise<void> {
  const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  while (((await cache.query(waiting)).rowCount ?? 0) < connections);
}
