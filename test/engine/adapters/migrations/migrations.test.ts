import t, { type Test } from 'tap';
import { migrate, migrateWithProgress } from '../../../../engine/adapters/migrations/migrations.ts';
import { openDatabase } from '../../../support/database.ts';

const signal = new AbortController().signal;
const first = { number: 1, name: 'first', sql: 'create table thing (id integer primary key)' };
const second = { number: 2, name: 'second', sql: 'alter table thing add column label text' };

const setup = (t: Test) => openDatabase(t, 'cache');

t.test('each migration is applied once, in order', async (t) => {
  const db = await setup(t);
  t.same(await migrate(db, 'cache', [first], signal), [1]);
  t.same(await migrate(db, 'cache', [first, second], signal), [2]);
  t.same(await migrate(db, 'cache', [first, second], signal), []);
  await db.query('insert into thing values ($1, $2)', [1, 'one']);
  t.same(await db.query('select * from thing'), [{ id: 1, label: 'one' }]);
});

t.test('how many are applied is told after each, earlier ones included', async (t) => {
  const db = await setup(t);
  await migrate(db, 'cache', [first], signal);
  const told: number[] = [];
  const tell = (applied: number): void => void told.push(applied);
  t.same(await migrateWithProgress(db, 'cache', [first, second], tell, signal), [2]);
  t.same(told, [1, 2]);
});

t.test('two processes that start at once apply each migration once', async (t) => {
  const db = await setup(t);
  const both = await Promise.all([
    migrate(db, 'cache', [first, second], signal),
    migrate(db, 'cache', [first, second], signal),
  ]);
  t.same(both.flat().sort(), [1, 2]);
});

t.test('a migration may take any time, also of a large schema, and so may the wait for it', async (t) => {
  const db = await setup(t);
  const limits = "select current_setting('statement_timeout') as statement";
  await migrate(db, 'cache', [{ number: 1, name: 'limits', sql: `create table limits as ${limits}` }], signal);
  t.same(await db.query('select * from limits'), [{ statement: '0' }]);
  t.same(await db.query(limits), [{ statement: '1min' }], 'as before');
});

t.test('a migration that fails leaves nothing of itself', async (t) => {
  const db = await setup(t);
  const broken = { number: 1, name: 'broken', sql: 'create table thing (id integer); select no_such_function()' };
  await t.rejects(migrate(db, 'cache', [broken], signal), { kind: 'defect', message: /no_such_function/ });
  t.same(await migrate(db, 'cache', [first], signal), [1]);
});

t.test('a schema that was made by an unreleased version is refused, and says so', async (t) => {
  const db = await setup(t);
  await migrate(db, 'cache', [first], signal);
  await t.rejects(migrate(db, 'cache', [{ ...first, sql: `${first.sql} ` }], signal), {
    kind: 'rejected',
    message:
      "schema cache was made by an unreleased version of this program: its migration 1 differs from 'first' here. " +
      'Use that version, or start with an empty schema, see config/deploy/UPGRADING.md',
  });
});

t.test('a database newer than the program is refused', async (t) => {
  const db = await setup(t);
  await migrate(db, 'cache', [first, second], signal);
  await t.rejects(migrate(db, 'cache', [first], signal), { kind: 'rejected', message: /has migration 2/ });
});
