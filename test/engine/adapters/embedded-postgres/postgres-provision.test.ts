import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { type Provision, provision } from '../../../../engine/adapters/embedded-postgres/postgres-provision.ts';
import { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { testDatabase } from '../../../support/database.ts';

const signal = new AbortController().signal;
const server = await testDatabase(t);
const superuser = { ...server, applicationName: 'test' };
const admin = connection(server);
t.teardown(() => admin[Symbol.asyncDispose]());

function connection(to: { readonly user: string; readonly password: string; readonly database: string }): Postgres {
  const { host, port } = server;
  return new Postgres(
    { ...to, host, port, schema: 'public', poolSize: 1, idleTimeoutMs: 1_000, applicationName: 'test' },
    silentLogger(),
  );
}

/** Names that no other test has, in need of quotes. */
function setup(t: Test): Provision {
  const name = `p ${randomBytes(6).toString('hex')}`;
  t.teardown(async () => {
    await admin.query(`drop database if exists "${name}" with (force)`);
    await admin.query(`drop role if exists "${name}"`);
  });
  return { user: name, password: "it's", database: name, schema: 'My schema' };
}

t.test('a user gets a database and a schema to make tables in, and no other user is let in', async (t) => {
  const wanted = setup(t);
  const other = setup(t);
  await provision(superuser, [wanted, other], signal);
  await using own = connection(wanted);
  await own.query('create table "My schema".made (a int)');
  await using foreign = connection({ ...other, database: wanted.database });
  await t.rejects(foreign.query('select 1'), { message: /permission denied for database/ });
});

t.test('what is there is left as it is, apart from the password', async (t) => {
  const wanted = setup(t);
  const other = setup(t);
  await admin.query(`create database "${wanted.database}"`);
  await provision(superuser, [wanted, other], signal);
  {
    await using own = connection(wanted);
    await own.query('create table "My schema".kept as select 7 as a');
  }
  await provision(superuser, [{ ...wanted, password: 'another' }], signal);
  await using own = connection({ ...wanted, password: 'another' });
  t.strictSame(await own.query('select a from "My schema".kept'), [{ a: 7 }]);
  await using late = connection(wanted);
  await t.rejects(late.query('select 1'), { message: /password authentication failed/ });
  await using guest = connection({ ...other, database: wanted.database });
  t.strictSame(await guest.query('select 1 as a'), [{ a: 1 }], 'who could connect before still can');
});

t.test('a server that refuses to make the role or the database says why', async (t) => {
  const wanted = setup(t);
  const limited = setup(t);
  const provideAs = () => provision({ ...superuser, user: limited.user, password: 'secret' }, [wanted], signal);
  await admin.query(`create role "${limited.user}" login password 'secret'`);
  await t.rejects(provideAs(), { message: /permission denied to create role/ });
  await admin.query(`alter role "${limited.user}" createrole`);
  await t.rejects(provideAs(), { message: /permission denied to create database/ });
});

t.test('schemas are not made for a caller that has given up', async (t) => {
  const wanted = setup(t);
  const stop = AbortSignal.abort(new Error('enough'));
  await t.rejects(provision(superuser, [wanted], stop), new Error('enough'));
  await provision(superuser, [wanted], signal);
  await using own = connection(wanted);
  await own.query('create table "My schema".made (a int)');
});
