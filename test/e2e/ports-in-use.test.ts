// A service whose port somebody else has: it ends at once and says what to do, instead of being taken for the other one.

import t from 'tap';
import { freePortBase, longshore, processesBelow, tempDir, up } from '../support/longshore.ts';

t.test(
  'a second up on the ports of the first ends with exit code 1 before it is ready, and the first goes on',
  async (t) => {
    const base = await freePortBase();
    const first = await up(t, await tempDir(t), ['--port-base', String(base)]);
    const dir = await tempDir(t);
    const second = await longshore(['up', '--data', dir, '--port-base', String(base + 4)]);
    t.equal(second.code, 1);
    t.match(
      second.stderr,
      `longshore up: cannot listen on 127.0.0.1:${base + 4} (installer): in use\nnext: stop what uses them`,
    );
    t.notMatch(second.stderr, /^ready/m);
    t.same(processesBelow(dir), []);
    t.equal((await fetch(`${first.endpoints.installer}/ready`)).status, 200);
  },
);
