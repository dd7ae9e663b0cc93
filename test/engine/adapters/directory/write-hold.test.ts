import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openDirectoryStore } from '../../../../engine/adapters/directory/directory-store.ts';
import { WriteHold } from '../../../../engine/adapters/directory/write-hold.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { FakeChangeJournal } from '../../../fakes/fake-change-journal.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const signal = new AbortController().signal;

async function setup(t: Test) {
  const path = await mkdtemp(join(tmpdir(), 'longshore-hold-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  const clock = new VirtualClock();
  const hold = new WriteHold(clock);
  const journal = new FakeChangeJournal();
  const options = { path, journal, hold, clock: systemClock, log: silentLogger() };
  return { clock, hold, journal, store: await openDirectoryStore(options, signal) };
}

t.test('while it is held, objects are read, and every change waits until it is released', async (t) => {
  const { hold, store, clock } = await setup(t);
  await store.putAll(
    [
      { key: '1/a/x', source: Buffer.from('old') },
      { key: '1/a/y', source: Buffer.from('old') },
    ],
    {},
    signal,
  );
  t.strictSame(await hold.hold(5_000, signal), new Date(clock.now() + 5_000));
  let over = 0;
  const changes = [
    store.put('1/a/x', Buffer.from('newer'), {}, signal),
    store.remove(['1/a/y'], signal),
    store.discard(['1/a/z'], signal),
  ].map((change) => change.finally(() => over++));
  const listed = async (): Promise<readonly string[]> =>
    (await Array.fromAsync(store.list('', {}, signal))).map(({ key, size }) => `${key} ${size}`);
  t.strictSame(await listed(), ['1/a/x 3', '1/a/y 3']);
  t.equal(over, 0);
  const refused = await hold.hold(5_000, signal).catch((error: unknown) => error);
  t.match(refused, { message: /held already/, retryAfterSeconds: 5 });
  t.equal(hold.release(), true);
  t.equal(hold.release(), false);
  await Promise.all(changes);
  t.strictSame(await listed(), ['1/a/x 5']);
});

t.test('it is held only after the changes that had begun have ended', async (t) => {
  const { hold, store, journal } = await setup(t);
  const noted = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  journal.onStep = async (step) => {
    if (step !== 'note') return;
    noted.resolve();
    await goOn.promise;
  };
  const put = store.put('1/a/x', Buffer.from('x'), {}, signal);
  await noted.promise;
  const order: string[] = [];
  const held = hold.hold(5_000, signal).then(() => order.push('held'));
  void put.then(() => order.push('put'));
  goOn.resolve();
  await Promise.all([put, held]);
  t.strictSame(order.toSorted(), ['held', 'put']);
  t.ok(await store.head('1/a/x', signal));
});

t.test('it ends by itself, also while it waits for changes, and a caller that goes away ends it', async (t) => {
  const { hold, clock } = await setup(t);
  await hold.hold(1_000, signal);
  const waiting = hold.enter(signal);
  await clock.advance(1_000);
  const change = await waiting;
  t.equal(hold.release(), false);

  const late = hold.hold(1_000, signal);
  await Promise.all([t.rejects(late, { message: /took longer/ }), clock.advance(1_000)]);

  const gone = new AbortController();
  const cancelled = hold.hold(1_000, gone.signal);
  gone.abort(new Error('gone'));
  await t.rejects(cancelled, { message: 'gone' });
  change[Symbol.dispose]();
  using _ = await hold.enter(signal);
});

t.test('a change that waits can be given up', async (t) => {
  const { hold } = await setup(t);
  await hold.hold(1_000, signal);
  const gone = new AbortController();
  const waiting = hold.enter(gone.signal);
  gone.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
});
