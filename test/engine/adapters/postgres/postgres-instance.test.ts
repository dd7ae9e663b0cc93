import t, { type Test } from 'tap';
import { PostgresLeases } from '../../../../engine/adapters/postgres/leases-postgres.ts';
import type { InstanceGap } from '../../../../engine/adapters/postgres/postgres-instance.ts';
import { cacheDatabase, type EngineProcess, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const at = await cacheDatabase(t);

/** Every call of a hearer, in order; `next` waits for one more. */
function hearing({ instance }: EngineProcess, channel: string) {
  const heard: (string | undefined)[] = [];
  let more = Promise.withResolvers<void>();
  const stop = instance.listen(channel, (payload) => {
    heard.push(payload);
    more.resolve();
  });
  const until = async (count: number): Promise<readonly (string | undefined)[]> => {
    while (heard.length < count) {
      await more.promise;
      more = Promise.withResolvers();
    }
    return heard;
  };
  return { stop, until, heard };
}

async function setup(t: Test) {
  await emptyCache(at);
  const gaps: InstanceGap[] = [];
  const gapped = Promise.withResolvers<void>();
  const broken = await engineProcess(t, at, (gap) => {
    gaps.push(gap);
    gapped.resolve();
  });
  const other = await engineProcess(t, at);
  const cut = async (): Promise<void> => {
    await other.db.query('select pg_terminate_backend(pid, 5000) from alive_instance where id = $1', [
      broken.instance.id,
    ]);
  };
  const alive = async (): Promise<readonly number[]> =>
    (await other.db.query<{ id: number }>('select id from alive_instance order by id')).map((row) => row.id);
  return { broken, other, gaps, gapped: gapped.promise, cut, alive };
}

const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof setup>>) => Promise<void>): void => {
  t.test(what, async (t) => check(t, await setup(t)));
};

fact('every process has an id of its own and is alive until it is closed', async (t, { broken, other, alive }) => {
  const ids = [broken.instance.id, other.instance.id];
  t.ok(ids[0] !== ids[1]);
  t.same(
    await alive(),
    ids.toSorted((a, b) => a - b),
  );
  await broken.instance[Symbol.asyncDispose]();
  t.same(await alive(), [other.instance.id]);
  t.equal(broken.instance.connected, false);
  await t.resolves(broken.instance[Symbol.asyncDispose](), 'twice is fine');
});

fact('a process uses one connection outside its pool', async (t, { broken, other }) => {
  await broken.db[Symbol.asyncDispose]();
  await other.db.query('select 1');
  hearing(broken, 'one');
  await hearing(broken, 'two').until(1);
  const sessions = await other.db.query<{ query: string }>(
    `select query from pg_stat_activity where datname = current_database()
      and backend_type = 'client backend' and pid not in
      (select pid from alive_instance where id <> $1) and pid <> pg_backend_pid()`,
    [broken.instance.id],
  );
  t.same(sessions, [{ query: 'listen "two"' }]);
});

t.test('a lost connection is replaced: same id, alive again, gap reported', async (t) => {
  const { broken, gaps, gapped, cut, alive } = await setup(t);
  const { id } = broken.instance;
  await cut();
  await gapped;
  t.equal(broken.instance.id, id);
  t.ok((await alive()).includes(id));
  t.equal(broken.instance.connected, true);
  t.equal(gaps.length, 1);
  t.ok((gaps[0]?.ms ?? -1) >= 0 && (gaps[0]?.ms ?? Infinity) < 30_000, `${gaps[0]?.ms} ms`);
});

t.test('a session of ours that the server still keeps does not bar our way', async (t) => {
  const { broken, other, gapped, cut, alive } = await setup(t);
  // A stranger takes the lock the moment it is free, as a half-dead session of ours would keep it.
  const squatter = await other.db.dedicated();
  squatter.on('error', () => undefined);
  const squatting = squatter.query('select pg_advisory_lock(instance_class(), $1)', [broken.instance.id]);
  const queued = "select from pg_locks where locktype = 'advisory' and not granted and objid = $1::integer::oid";
  while ((await other.db.query(queued, [broken.instance.id])).length === 0);
  await cut();
  await Promise.allSettled([squatting]);
  await gapped;
  t.ok((await alive()).includes(broken.instance.id));
  await squatter.end().catch(() => undefined);
});

fact('leases survive a gap unless somebody took them', async (t, { broken, other, gapped, cut }) => {
  const [ours, theirs] = [new PostgresLeases(broken.db, broken.instance), new PostgresLeases(other.db, other.instance)];
  const kept = await ours.acquire('kept', signal);
  if (!kept) throw new Error('the lease should be free');
  await cut();
  await gapped;
  t.same(await ours.renew([kept], signal), []);
  t.equal(await theirs.acquire('kept', signal), undefined);
});

fact('a process without its session lock takes no leases', async (t, { broken }) => {
  const leases = new PostgresLeases(broken.db, broken.instance);
  await broken.instance[Symbol.asyncDispose]();
  t.equal(await leases.acquire('a', signal), undefined);
});

fact('a hearer is called once at first, then for every notification', async (t, { broken, other }) => {
  const one = hearing(broken, 'news');
  const odd = hearing(broken, 'Odd "name"');
  t.same(await one.until(1), [undefined]);
  await odd.until(1);
  await other.db.query("select pg_notify('news', 'a'), pg_notify($1, 'b'), pg_notify('elsewhere', 'c')", [
    'Odd "name"',
  ]);
  t.same(await one.until(2), [undefined, 'a']);
  t.same(await odd.until(2), [undefined, 'b']);
});

fact('a second hearer of a channel is called at first, too', async (t, { broken }) => {
  const one = hearing(broken, 'news');
  await one.until(1);
  t.same(await hearing(broken, 'news').until(1), [undefined]);
  t.same(one.heard, [undefined]);
});

fact('after a gap every hearer is called once and hears again', async (t, { broken, other, cut }) => {
  const [one, two] = [hearing(broken, 'one'), hearing(broken, 'two')];
  await Promise.all([one.until(1), two.until(1)]);
  await cut();
  await Promise.all([one.until(2), two.until(2)]);
  await other.db.query("select pg_notify('one', '1'), pg_notify('two', '2')");
  t.same(await one.until(3), [undefined, undefined, '1']);
  t.same(await two.until(3), [undefined, undefined, '2']);
});

fact('who stopped listening hears nothing more', async (t, { broken, other }) => {
  const [stopped, kept] = [hearing(broken, 'news'), hearing(broken, 'news')];
  const never = hearing(broken, 'news');
  never.stop();
  await kept.until(1);
  await stopped.until(1);
  stopped.stop();
  stopped.stop();
  await other.db.query("select pg_notify('news', 'a')");
  await kept.until(2);
  kept.stop();
  const later = hearing(broken, 'news');
  await later.until(1);
  await other.db.query("select pg_notify('news', 'b')");
  t.same(await later.until(2), [undefined, 'b']);
  t.same([stopped.heard, kept.heard, never.heard], [[undefined], [undefined, 'a'], []]);
});

fact('a hearer that fails does not keep others from hearing', async (t, { broken }) => {
  broken.instance.listen('news', () => {
    throw new Error('deaf');
  });
  t.same(await hearing(broken, 'news').until(1), [undefined]);
});
