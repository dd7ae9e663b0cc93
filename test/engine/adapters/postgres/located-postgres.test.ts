import t from 'tap';
import { CachedDirectory } from '../../../../engine/adapters/ldap/ldap-directory.ts';
import { LocatedPostgres, type TargetDatabase } from '../../../../engine/adapters/postgres/located-postgres.ts';
import type { DatabaseAddress, Directory } from '../../../../engine/ports/directory.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const signal = new AbortController().signal;
const [A, B] = ['a', 'b'].map((host) => ({ host, port: 5432, database: 'genes' })) as [
  DatabaseAddress,
  DatabaseAddress,
];
const away = () => transient('away', { unreachable: true });

function setup() {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const closed: string[] = [];
  const state = { at: A as DatabaseAddress | undefined, reached: new Set(['a', 'b']) };
  const directory: Directory = {
    async find(name) {
      asked.push(name);
      if (!state.at) throw away();
      return state.at;
    },
    probe: async () => undefined,
  };
  const open = ({ host }: DatabaseAddress): TargetDatabase => {
    const call = async <Result>(): Promise<Result> => {
      if (!state.reached.has(host)) throw away();
      return [{ host }] as Result;
    };
    return {
      query: call,
      grouped: { query: call },
      transaction: call,
      probe: call,
      [Symbol.asyncDispose]: async () => void closed.push(host),
    };
  };
  const remembering = new CachedDirectory(directory, silentLogger());
  const db = new LocatedPostgres({ directory: remembering, commonName: 'genes', open, clock, log: silentLogger() });
  return { clock, db, asked, closed, state };
}

t.test('a database is looked up when it is first used, once for all who wait', async (t) => {
  const { db, asked } = setup();
  t.same(asked, []);
  t.same(await Promise.all([db.query('x'), db.grouped.query('y'), db.transaction(async () => 1, signal)]), [
    [{ host: 'a' }],
    [{ host: 'a' }],
    [{ host: 'a' }],
  ]);
  t.same(asked, ['genes']);
});

t.test('a directory that is away at first use is asked again at the next', async (t) => {
  const { db, asked, state } = setup();
  state.at = undefined;
  await t.rejects(db.query('x'), { unreachable: true, message: 'away' });
  state.at = A;
  t.same(await db.query('x'), [{ host: 'a' }]);
  t.equal(asked.length, 2);
});

t.test('a database that has moved is found once it is not reached where it was', async (t) => {
  const { clock, db, asked, closed, state } = setup();
  await db.query('x');
  state.at = B;
  state.reached.delete('a');
  await clock.advance(5_000);
  await t.rejects(db.query('x'), { unreachable: true, message: 'away' });
  t.same(await db.query('x'), [{ host: 'b' }]);
  t.equal(asked.length, 2);
  t.same(closed, ['a']);
});

t.test('one that is away where it stands is looked up every few seconds, with the same connections', async (t) => {
  const { clock, db, asked, closed, state } = setup();
  await db.query('x');
  state.reached.clear();
  for (let second = 0; second < 21; second++) {
    await t.rejects(db.query('x'), { unreachable: true, message: 'away' });
    await clock.advance(1_000);
  }
  t.equal(asked.length, 5);
  state.reached.add('a');
  t.same(await db.query('x'), [{ host: 'a' }]);
  t.same(closed, []);
});

t.test('while the directory is away, the last place is good enough', async (t) => {
  const { clock, db, state } = setup();
  await db.query('x');
  state.at = undefined;
  state.reached.clear();
  await t.rejects(db.query('x'), { unreachable: true, message: 'away' });
  await clock.advance(5_000);
  state.reached.add('a');
  t.same(await db.query('x'), [{ host: 'a' }]);
});

t.test('closing closes what is open', async (t) => {
  const { db, closed } = setup();
  await db.query('x');
  await db[Symbol.asyncDispose]();
  t.same(closed, ['a']);
});
