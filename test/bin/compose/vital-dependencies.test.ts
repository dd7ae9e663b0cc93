import t from 'tap';
import { vitalDependencies } from '../../../bin/compose/vital-dependencies.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { completeDocument } from '../../config/complete-document.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

t.test('a service is waited for by its own database, or by the one in which it has a schema', async (t) => {
  const { installer } = (await completeDocument('contract-form')) as unknown as Configuration;
  const db = installer.cacheDb;
  const names = (more: object): readonly string[] =>
    vitalDependencies({ installer, ...more } as Configuration, { clock: new VirtualClock(), log: silentLogger() }).map(
      ({ name }) => name,
    );
  const always = ['cache database', 'object store'];
  t.strictSame(names({}), always);
  t.strictSame(names({ access: {}, report: {} }), always);
  t.strictSame(names({ access: { db }, report: {} }), [...always, 'access database']);
  t.strictSame(names({ access: {}, report: { db } }), [...always, 'report database']);
});
