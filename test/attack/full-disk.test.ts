// Somebody with a few bytes of usage tries to fill the disk: by documents, metadata, archives that grow when they are
// unpacked, deleted datasets. And a disk that others have filled: nothing is written, everything else goes on.

import { execFile } from 'node:child_process';
import { readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { FormData } from 'undici';
import { parse, stringify } from 'yaml';
import { inCache } from '../contract/watch.ts';
import { zipOf } from '../fixtures/zip-of.ts';
import { callAt, uploadAt } from './support/calls.ts';
import { victim } from './support/victim.ts';

const MIB = 1024 * 1024;
/** The smallest that can be configured, and what is left of it for the attack. */
const QUOTA = 1024 * MIB;
const LEFT = 4 * MIB;
const OWNER = '4711';
const MARGIN = 2 * 1024 * MIB;

interface Written {
  containerCore: { disk?: object };
  installer: { restService?: object };
}

const first = await victim(t);
const { dir } = first;
await first.stop();
const { bavail, bsize } = await statfs(dir);
const file = join(dir, 'config.yaml');
const config = parse(await readFile(file, 'utf8')) as Written;
config.containerCore.disk = { floor: 0, floorSize: Math.max(0, bavail * bsize - MARGIN) };
config.installer.restService = { ...config.installer.restService, userMaxStorageSize: QUOTA };
await writeFile(file, stringify(config));
const app = await victim(t, [], dir);
const { installer, handler, report, access, pluginHost, adminToken } = app.endpoints;
const authorization = `Bearer ${await app.token(OWNER)}`;
const call = (method: string, path: string, body?: string | Buffer | FormData, headers = {}) =>
  callAt(installer + path, method, { authorization, ...headers }, body);
const upload = (name: string, content: Buffer) => uploadAt(installer, authorization, name, content);
const usage = async () => ((await call('GET', '/users/self/meta')).body as { quota: { usage: number } }).quota.usage;

/** What the directory store keeps for the owner. */
async function kept(): Promise<number> {
  const root = join(dir, 'objects', 'objects', OWNER);
  const names = await readdir(root, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(root, name));
      return found.isFile() ? found.size : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function importEnded(id: string): Promise<{ status: string; messages?: readonly string[] }> {
  for (;;) {
    const { body } = await call('GET', `/datasets/${id}`);
    const { status } = body as { status: { import?: { status: string }; upload: { status: string } } };
    const { import: imported } = status;
    if (imported && !['queued', 'in-progress'].includes(imported.status)) return imported;
    if (status.upload.status !== 'success' && status.upload.status !== 'running')
      return { status: status.upload.status };
  }
}

t.test('nobody keeps more than their quota, by whatever way', async (t) => {
  const small = await upload('small.txt', Buffer.from('twelve bytes'));
  t.equal(small.status, 202);
  const { datasetId } = small.body as { datasetId: string };
  t.equal((await importEnded(datasetId)).status, 'complete');
  // Written down instead of sent: it would take its time and its room.
  await inCache(dir, `update dataset set raw_bytes = ${QUOTA - LEFT} where dataset_id = '${datasetId}'`);

  const bomb = await upload('bomb.zip', await zipOf([{ name: 'zeros.txt', text: '0'.repeat(3 * MIB) }]));
  t.equal(bomb.status, 202);
  const grown = bomb.body as { datasetId: string };
  t.comment(await importEnded(grown.datasetId));

  const refused =
    /^the file '.*' has \d+ bytes; of your storage quota of 1073741824 bytes, \d+ are used and \d+ are left$/;
  const answers: number[] = [];
  for (let n = 0; n < 8; n++) {
    const path = `/datasets/${datasetId}/files/documents/${n}.bin`;
    const { status, body } = await call('PUT', path, Buffer.alloc(MIB), { 'content-type': 'application/octet-stream' });
    answers.push(status);
    if (status === 400) t.match(body, { status: 'bad-request', message: refused });
  }
  t.ok(answers.includes(204) && answers.includes(400), answers.join(' '));
  t.equal(await usage(), QUOTA - LEFT + (await kept()));
  t.ok((await kept()) <= LEFT, `${await kept()} of ${LEFT}`);

  for (const id of [datasetId, grown.datasetId]) t.equal((await call('DELETE', `/datasets/${id}`)).status, 204);
  t.match(await upload('more.bin', Buffer.alloc(3 * MIB)), {
    status: 400,
    body: { status: 'bad-request', message: /^the upload has \d+ bytes; of your storage quota of 1073741824 bytes, / },
  });
  t.equal((await call('POST', `/datasets/${datasetId}/undelete`)).status, 204);
  t.ok((await kept()) <= LEFT, `${await kept()} of ${LEFT}`);
  await app.holds(t);
});

t.test(
  'below the floor of a disk writes get 503, reads and deletions go on, and so does all when there is room',
  async (t) => {
    const health = (base: string, path = '/health') => callAt(base + path, 'GET');
    const mine = (await call('GET', '/datasets')).body as readonly { datasetId: string }[];
    const [{ datasetId } = { datasetId: '' }] = mine;
    const filler = join(dir, 'filler');
    await promisify(execFile)('fallocate', ['-l', String(2 * MARGIN), filler]);
    t.teardown(() => rm(filler, { force: true }));
    const lack = /^the disk of the (scratch space|object store) has \d+ bytes free; writes stop below \d+$/;
    const full = { status: 503, body: { message: lack } };
    while ((await callAt(`${installer}/ready`, 'GET')).status !== 200);
    // What was read of the disk before is good for a second.
    while (((await health(installer)).body as { status: string }).status !== 'degraded');

    t.match(await upload('more.txt', Buffer.from('a few bytes')), full);
    t.match(await call('PATCH', `/datasets/${datasetId}`, '{}', { 'content-type': 'application/json' }), full);
    t.match(
      await call('PUT', `/datasets/${datasetId}/files/documents/a.txt`, 'x', {
        'content-type': 'application/octet-stream',
      }),
      full,
    );
    t.match(await call('PUT', `/datasets/${datasetId}`, new FormData()), full);
    t.match(await call('POST', `/datasets/${datasetId}/undelete`), full);
    for (const base of [installer, report, access, pluginHost])
      t.match((await health(base)).body, { status: 'degraded' }, base);
    t.match((await health(handler)).body, { status: 'degraded' });
    t.equal((await call('GET', `/datasets/${datasetId}`)).status, 200);
    t.equal((await call('GET', '/datasets')).status, 200);
    t.equal((await call('DELETE', `/datasets/${datasetId}`)).status, 204);
    t.equal(
      (await callAt(`${installer}/admin/rpc/datasets/prune`, 'POST', { 'admin-token': adminToken })).status !== 503,
      true,
    );
    await app.holds(t);

    await rm(filler);
    while (((await health(installer)).body as { status: string }).status !== 'healthy');
    t.equal((await upload('more.txt', Buffer.from('a few bytes'))).status, 202);
  },
);
