import t from 'tap';
import { freePortBase, longshore, processesBelow, tempDir } from '../support/longshore.ts';

t.test('the demo ends with a dataset installed on two targets, says where, and leaves nothing running', async (t) => {
  const dir = await tempDir(t);
  const ended = await longshore(['up', '--data', dir, '--port-base', String(await freePortBase()), '--demo', '--exit']);
  t.equal(ended.code, 0, ended.stderr);
  t.notMatch(ended.stderr, /warning/, 'nothing of what it configured itself needs a warning');
  t.match(ended.stdout, /installed \d+ ms later/);
  for (const target of ['AlphaDB', 'BetaDB']) {
    t.match(ended.stdout, new RegExp(`${target}: files ${dir}/sites/${target}/\\w{16} \\(`));
    t.match(ended.stdout, new RegExp(`${target}: .*\\d+ rows in ${target.toLowerCase()}_data\\.genelist`));
  }
  t.same(processesBelow(dir), []);
});
