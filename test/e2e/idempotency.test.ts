// The same creation again and again with one key, on the real program, which is killed meanwhile.

import { request } from 'node:http';
import type { Client } from 'pg';
import t from 'tap';
import { fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { detailsOf, formOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, type Up, up } from '../support/longshore.ts';
import { withCache } from '../support/places.ts';

const USER = '12';
const DETAILS = detailsOf('genelist');
const FILES = [{ name: 'genes.txt', content: geneList(10) }];

const callerOf = async (app: Up) => {
  const authorization = `Bearer ${await app.token(USER)}`;
  const url = `${app.endpoints.installer}/datasets`;
  const upload = async (key: string) => {
    const headers = { authorization, 'idempotency-key': key };
    const response = await fetch(url, { method: 'POST', body: formOf(DETAILS, FILES), headers });
    const body = (await response.json()) as { readonly datasetId?: string };
    return { status: response.status, replayed: response.headers.has('idempotent-replayed'), id: body.datasetId };
  };
  const datasets = async () =>
    ((await (await fetch(url, { headers: { authorization } })).json()) as { datasetId: string }[]).map(
      ({ datasetId }) => datasetId,
    );
  /** A request that never ends. */
  const hang = (key: string): void => {
    const headers = { authorization, 'idempotency-key': key, 'content-type': 'multipart/form-data; boundary=B' };
    const hanging = request(url, { method: 'POST', headers });
    hanging.on('error', () => undefined);
    hanging.write('--B\r\ncontent-disposition: form-data; name="dataFile"; filename="genes.txt"\r\n\r\nPF3D7');
  };
  return { upload, datasets, hang };
};

const keyRow = async (cache: Client, key: string): Promise<boolean> =>
  ((await cache.query('select from idempotency_key where key = $1', [key])).rowCount ?? 0) > 0;

t.test('50 times at once, after a kill -9, and after one in the middle: one dataset for each key', async (t) => {
  const dir = await tempDir(t);
  const base = ['--port-base', String(await freePortBase())];
  const app = await up(t, dir, base);
  const before = await callerOf(app);
  const answers = await Promise.all(Array.from({ length: 50 }, () => before.upload('first')));
  const [id, ...others] = await before.datasets();
  t.strictSame(others, []);
  const accepted = answers.filter(({ status }) => status === 202);
  t.ok(accepted.length > 0);
  for (const answer of accepted) t.equal(answer.id, id);
  // A repetition needs one of the places for uploads of its user.
  for (const { status } of answers) t.ok([202, 409, 429].includes(status), `${status}`);

  before.hang('second');
  await withCache(dir, async (cache) => {
    while (!(await keyRow(cache, 'second')));
  });
  t.equal((await before.upload('second')).status, 409);
  await app.crash();

  const again = await up(t, dir, base);
  const after = await callerOf(again);
  t.strictSame(await after.upload('first'), { status: 202, replayed: true, id });
  const expire = (when: string) =>
    withCache(dir, (cache) =>
      cache.query(`update idempotency_key set expires_at = now() + $1::interval where answer is null`, [when]),
    );
  await expire('1 hour');
  t.equal((await after.upload('second')).status, 409, 'the claim of the dead process stands until it expires');
  await expire('0');
  const second = await after.upload('second');
  t.match(second, { status: 202, replayed: false });
  t.strictSame(await after.upload('second'), { ...second, replayed: true });
  t.strictSame((await after.datasets()).toSorted(), [id, second.id].toSorted());
  for (const one of [id, second.id]) {
    const watched = await longshore(['watch', String(one), '--data', dir, '--user', USER]);
    t.equal(watched.stdout, 'installed\n', watched.stderr);
  }
  await again.stop();
});
