// More edits at once, of datasets of one user, than the cache database has connections in the pool of the real program.

import t from 'tap';
import { Api, detailsOf } from '../support/api.ts';
import { tempDir, up } from '../support/longshore.ts';
import { settled } from '../support/site-state.ts';

/** Twice as many as the pool has connections. */
const DATASETS = 10;

t.test('edits at once wait for one another, not for a connection that none of them gives up', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir);
  const api = new Api(app.endpoints.installer, await app.token('42'));
  const ids: string[] = [];
  for (let i = 0; i < DATASETS; i++)
    ids.push(await api.upload(detailsOf('lightweight'), [{ name: 'any.bin', content: 'anything' }]));
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
