// The cache database is lost, and with it every job and lease: one full reconciliation brings back all that the object
// store and the sites know, and nothing is installed or removed on the way.

import t from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { loseCache, settled, type WholeState, wholeState } from '../support/site-state.ts';

const [OWNER, FRIEND] = ['31', '32'];
const dir = await tempDir(t);
const args = ['--port-base', String(await freePortBase())];

t.test('everything is as before the cache was lost', async (t) => {
  const app = await up(t, dir, args);
  const owner = new Api(app.endpoints.installer, await app.token(OWNER));
  const friend = new Api(app.endpoints.installer, await app.token(FRIEND));
  const upload = (name: string, content: string): Promise<string> =>
    owner.upload(detailsOf('genelist', { name: `The ${name} one` }), [{ name: 'genes.txt', content }]);
  const ids = {
    shared: await upload('shared', geneList(20)),
    deleted: await upload('deleted', geneList(30)),
    invalid: await upload('invalid', 'no gene, but a sentence!?\n'),
  };
  await settled(dir);
  await owner.send('PUT', `/datasets/${ids.shared}/shares/${FRIEND}/offer`, { action: 'grant' });
  await friend.send('PUT', `/datasets/${ids.shared}/shares/${FRIEND}/receipt`, { action: 'accept' });
  await owner.send('DELETE', `/datasets/${ids.deleted}`);
  await settled(dir);

  const states = async (): Promise<Record<string, WholeState>> =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(ids).map(async ([name, id]) => [name, await wholeState(dir, OWNER, id, 'genelist')] as const),
      ),
    );
  const listings = async (): Promise<unknown[]> => [await owner.json('/datasets'), await friend.json('/datasets')];
  const before = { states: await states(), listings: await listings() };
  t.match(before.states, {
    shared: { cache: { state: 'live', import: 'complete', shares: [`${FRIEND} grant/accept`] } },
    deleted: { cache: { state: 'deleted' } },
    invalid: { cache: { state: 'live', import: 'invalid' } },
  });

  await loseCache(dir);
  await app.crash();
  const again = await up(t, dir, args);
  const run = await longshore(['reconcile', '--data', dir, '--wait']);
  t.equal(run.code, 0, run.stderr);
  await settled(dir);
  t.strictSame({ states: await states(), listings: await listings() }, before);
  await again.stop();
});
