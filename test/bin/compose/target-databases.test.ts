import t from 'tap';
import { openTargets } from '../../../bin/compose/target-databases.ts';
import type { DatabaseConnection, InstallTargetConfiguration } from '../../../config/configuration.ts';
import type { TargetId } from '../../../engine/model/ids.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Scope } from '../../../engine/runtime/scope.ts';
import { systemClock } from '../../../engine/runtime/time.ts';

const access = {
  username: 'service',
  password: 'password',
  poolSize: 5,
  schema: 'control',
  idleTimeoutMs: 1_000,
  tls: false,
  tlsOptions: { verify: true },
};
const named = (host: string, more: object = {}): DatabaseConnection => ({
  ...access,
  kind: 'direct',
  server: { host, port: 5432 },
  name: 'sites',
  platform: 'Postgres',
  ...more,
});
const lookedUp = (lookupCn: string): DatabaseConnection => ({ ...access, kind: 'lookup', lookupCn });
const target = (id: string, controlDb: DatabaseConnection): InstallTargetConfiguration => ({
  targetId: id as TargetId,
  targetName: id,
  dataTypes: 'any',
  controlDb,
  dataDb: controlDb,
  projectCategory: 'other',
});

t.test('targets on the same server, database and user share their connections', async (t) => {
  await using scope = new Scope({ clock: systemClock, log: silentLogger() });
  const directory = { find: () => Promise.reject(new Error('not asked')), probe: async () => undefined };
  const { targets, indexes } = await openTargets(
    [
      target('OneDB', named('a')),
      target('OtherSchema', named('a', { schema: 'other' })),
      target('SameSchema', named('a')),
      target('OtherHost', named('b')),
      target('OtherUser', named('a', { username: 'other' })),
      target('LookedUp', lookedUp('genes')),
      target('SameEntry', lookedUp('genes')),
      target('OtherEntry', lookedUp('tables')),
      target('MariaDB', named('a', { platform: 'MariaDB' })),
    ],
    { directory, shared: { poolSize: 20, idleTimeoutMs: 1_000 }, clock: systemClock, log: silentLogger() },
    scope,
  );
  const of = (id: string) => targets.get(id as TargetId)?.database;
  t.equal(of('OneDB'), of('OtherSchema'));
  t.equal(of('LookedUp'), of('SameEntry'));
  t.equal(new Set([...targets.values()].map(({ database }) => database)).size, 6);
  t.strictSame(
    indexes.map((index) => index.targets),
    [
      ['OneDB', 'SameSchema'],
      ...['OtherSchema', 'OtherHost', 'OtherUser'].map((id) => [id]),
      ['LookedUp', 'SameEntry'],
      ...['OtherEntry', 'MariaDB'].map((id) => [id]),
    ],
    'one index for each control schema',
  );
});
