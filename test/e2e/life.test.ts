// A dataset's whole life on the embedded stack.

import t from 'tap';
import { Api } from '../support/api.ts';
import { FRIEND, life, OWNER } from '../support/life.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { settled, wholeState } from '../support/site-state.ts';

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);

await life(t, {
  owner: new Api(app.endpoints.installer, await app.token(OWNER)),
  friend: new Api(app.endpoints.installer, await app.token(FRIEND)),
  async stateOf(id) {
    await settled(dir);
    return wholeState(dir, OWNER, id, 'genelist');
  },
  prune: (...args) => longshore(['prune', '--data', dir, ...args]),
});
