import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { PostgresOptions } from '../../../../engine/adapters/postgres/postgres.ts';
import {
  databaseArg,
  findTool,
  type PostgresTool,
  runTool,
} from '../../../../engine/adapters/postgres/postgres-tools.ts';

const signal = new AbortController().signal;
const DATABASE: PostgresOptions = {
  ...{ host: 'db.example', port: 5_433, user: 'longshore', password: 'open sesame', database: "it's a=b" },
  ...{ schema: 'installer', poolSize: 1, idleTimeoutMs: 1, applicationName: 'test' },
};

async function programs(t: Test, scripts: Readonly<Record<string, string>>): Promise<string> {
  const dir = t.testdir();
  for (const [path, script] of Object.entries(scripts)) {
    const file = join(dir, path);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, `#!/bin/sh\n${script}\n`);
    await chmod(file, 0o755);
  }
  return dir;
}

const version = (text: string): string => `echo 'pg_dump (PostgreSQL) ${text}'`;

t.test('the oldest program that is new enough is taken', async (t) => {
  const dir = await programs(t, {
    ...{ 'a/pg_dump': version('14.2'), 'b/pg_dump': version('18.1'), 'c/pg_dump': version('16beta1 (Debian 16)') },
    'd/pg_dump': 'exit 3',
  });
  const path = ['a', 'b', 'c', 'd', 'none'].map((name) => join(dir, name)).join(':');
  const search = { path, because: 'the server is that new' };
  t.match(await findTool('pg_dump', { ...search, atLeast: 16 }), { path: join(dir, 'c/pg_dump'), major: 16 });
  t.match(await findTool('pg_dump', { ...search, atLeast: 17 }), { path: join(dir, 'b/pg_dump'), major: 18 });
});

t.test('a program that is missing or too old is named, with what to do', async (t) => {
  const dir = await programs(t, { pg_dump: version('14.2 (Debian 14.2-1)') });
  const search = { binDir: dir, atLeast: 18, because: 'the server of the cache database is version 18' };
  await t.rejects(findTool('pg_dump', search), {
    kind: 'rejected',
    message: `pg_dump of PostgreSQL 18 or later is needed, because the server of the cache database is version 18; ${dir}/pg_dump is version 14.2. Install it (Debian: apt-get install postgresql-client-18), or name its directory with --postgres-bin DIR`,
  });
  await t.rejects(findTool('pg_restore', search), { kind: 'rejected', message: new RegExp(`there is none in ${dir}`) });
});

t.test('secrets are in the environment, and nothing of ours is', async (t) => {
  process.env.LONGSHORE_TEST_SECRET = 'of ours';
  t.teardown(() => {
    delete process.env.LONGSHORE_TEST_SECRET;
  });
  const dir = await programs(t, { pg_dump: 'echo "$@"; env; cat' });
  const tool: PostgresTool = { path: join(dir, 'pg_dump'), name: 'pg_dump', major: 18 };
  let said = '';
  const output = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of chunks) said += Buffer.from(chunk).toString();
  };
  await runTool({ tool, args: [databaseArg(DATABASE)], database: DATABASE, output }, signal);
  const [args = '', ...environment] = said.split('\n');
  t.equal(args, "--dbname=dbname='it\\'s a=b'");
  for (const line of [
    'PGHOST=db.example',
    'PGPORT=5433',
    'PGUSER=longshore',
    'PGPASSWORD=open sesame',
    'PGSSLMODE=disable',
  ])
    t.ok(environment.includes(line), line);
  t.notOk(said.includes('of ours'));
});

t.test('a program that fails says why, one that is told to end ends, and one may leave its input unread', async (t) => {
  const dir = await programs(t, {
    fails: 'echo "no such database" >&2; exit 3',
    hangs: 'echo begun; exec sleep 600',
    reads: 'exit 0',
  });
  const call = (name: string) => ({
    tool: { path: join(dir, name), name: 'pg_restore', major: 18 } as const,
    args: [],
    database: DATABASE,
  });
  const drain = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const _ of chunks);
  };
  await t.rejects(runTool({ ...call('fails'), output: drain }, signal), {
    kind: 'transient',
    message: "pg_restore of database it's a=b at db.example:5433 failed (3): no such database",
  });
  await t.rejects(runTool({ ...call('missing'), output: drain }, signal), { code: 'ENOENT' });
  const stop = new AbortController();
  const output = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const _ of chunks) stop.abort(new Error('enough'));
  };
  await t.rejects(runTool({ ...call('hangs'), output }, stop.signal), { message: 'enough' });
  const { Readable } = await import('node:stream');
  const input = Readable.from([Buffer.alloc(1_000_000), Buffer.alloc(1_000_000)]);
  await runTool({ ...call('reads'), input, output: drain }, signal);
});
