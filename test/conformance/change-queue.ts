// What every implementation of the change queue does; and what one with a journal, of the directory store, does besides.

import t, { type Test } from 'tap';
import type { ChangeJournal, JournalEntry } from '../../engine/adapters/events/postgres-queue.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import type { ChangeQueue } from '../../engine/ports/event-log.ts';
import { Batches } from './batches.ts';

export interface ChangeQueueUnderTest {
  readonly first: ChangeQueue;
  /** The same queue, seen by another process. */
  readonly second: ChangeQueue;
  /** As the store does. */
  announce(changes: readonly ObjectChange[]): Promise<void>;
  /** The second process ends in the middle of whatever it does. */
  killSecond(): Promise<void>;
  /** Ends the pause before a refused batch comes again, where time does not pass by itself. */
  hurry(): Promise<void>;
}

export interface ChangeJournalUnderTest extends ChangeQueueUnderTest {
  readonly first: ChangeQueue & ChangeJournal;
  readonly second: ChangeQueue & ChangeJournal;
}

const signal = new AbortController().signal;

const made = (key: string): ObjectChange => ({ kind: 'created', key });
const created = (key: string): JournalEntry => ({ change: made(key), etag: `etag of ${key}` });
const removed = (key: string): JournalEntry => ({ change: { kind: 'removed', key }, etag: undefined });
const keys = (changes: readonly ObjectChange[]): readonly string[] => changes.map(({ key }) => key).sort();

const batches = new Batches((queue: ChangeQueue, handle: (changes: readonly ObjectChange[]) => Promise<void>, until) =>
  queue.consume(handle, until),
);
const take = (queue: ChangeQueue, count: number) => batches.take(queue, count);

export const noteAndRelease = async (journal: ChangeJournal, changes: readonly ObjectChange[]): Promise<void> => {
  const entries = changes.map((change) => ({ change, etag: change.kind === 'created' ? 'etag' : undefined }));
  await journal.release(await journal.note(entries, signal), signal);
};

export function changeQueueConformance(name: string, open: (t: Test) => Promise<ChangeQueueUnderTest>): void {
  const fact = (what: string, check: (t: Test, under: ChangeQueueUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('changes are handed over as they were announced', async (t, { second, announce }) => {
    const changes: readonly ObjectChange[] = [
      made('a/b/vdi-meta.json'),
      { kind: 'removed', key: 'a/b/raw/ü + %41.txt' },
    ];
    await announce(changes);
    const seen = await take(second, 2);
    t.same(
      [...seen].sort((a, b) => (a.key < b.key ? 1 : -1)),
      changes,
    );
  });

  fact('a consumer that waits is given what is announced', async (t, { second, announce }) => {
    const seen = take(second, 1);
    await announce([made('a')]);
    t.same(keys(await seen), ['a']);
  });

  fact('batches hold 1 to 500 changes', async (t, { first, announce }) => {
    await announce(Array.from({ length: 1_200 }, (_, i) => made(`k${i}`)));
    const sizes = (await batches.taken([first], 1_200)).map(({ length }) => length);
    t.ok(Math.max(...sizes) <= 500 && Math.min(...sizes) >= 1, sizes.join());
  });

  fact('a refused batch comes again', async (t, { first, announce, hurry }) => {
    await announce([made('a')]);
    t.same((await batches.refusedOnce(first, hurry)).map(keys), [['a'], ['a']]);
  });

  fact('what was handled does not come again', async (t, { first, second, announce }) => {
    await announce([made('a')]);
    await take(first, 1);
    await announce([made('b')]);
    t.same(keys(await take(second, 1)), ['b']);
  });

  fact('two processes share the changes', async (t, { first, second, announce }) => {
    const names = Array.from({ length: 2_000 }, (_, i) => `k${i}`);
    await announce(names.map(made));
    t.same(keys((await batches.taken([first, second], names.length)).flat()), names.sort());
  });

  fact('the batch of a process that died comes again elsewhere', async (t, { first, second, announce, killSecond }) => {
    await announce([made('a')]);
    t.same(keys(await batches.killed(second, killSecond, () => take(first, 1))), ['a']);
  });

  fact('a consumer that waits ends when told to', async (t, { first }) => {
    const stop = new AbortController();
    const consuming = first.consume(async () => undefined, stop.signal);
    stop.abort();
    await t.resolves(consuming);
  });
}

export function changeJournalConformance(name: string, open: (t: Test) => Promise<ChangeJournalUnderTest>): void {
  changeQueueConformance(name, open);
  const fact = (what: string, check: (t: Test, under: ChangeJournalUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('released changes are handed over as they were noted', async (t, { first, second }) => {
    const entries = [created('a/b/vdi-meta.json'), removed('a/b/raw/ü.txt')];
    await first.release(await first.note(entries, signal), signal);
    t.same(
      await take(second, 2),
      entries.map((entry) => entry.change),
    );
  });

  fact('ids come in the order of the entries', async (t, { first }) => {
    const names = Array.from({ length: 50 }, (_, i) => `k${i}`);
    const ids = await first.note(names.map(created), signal);
    t.equal(new Set(ids).size, 50);
    await first.drop(
      ids.filter((_, i) => i !== 17),
      signal,
    );
    await first.release(ids.slice(17, 18), signal);
    t.same(keys(await take(first, 1)), ['k17']);
    t.same(await first.note([], signal), []);
  });

  fact('pending and dropped changes are not handed over', async (t, { first }) => {
    await first.note([created('pending')], signal);
    await first.drop(await first.note([created('dropped')], signal), signal);
    await noteAndRelease(first, [made('released')]);
    t.same(keys(await take(first, 1)), ['released']);
    t.same(await first.orphans(signal), [], 'what a living process noted is its own affair');
  });

  fact('dropping what was released changes nothing', async (t, { first }) => {
    const ids = await first.note([created('a')], signal);
    await first.release(ids, signal);
    await first.drop(ids, signal);
    t.same(keys(await take(first, 1)), ['a']);
  });

  fact('pending changes of a dead process are found and settled', async (t, { first, second, killSecond }) => {
    const entries = [created('made'), created('not made'), removed('gone')];
    const ids = await second.note(entries, signal);
    t.same(await first.orphans(signal), []);
    await killSecond();
    t.same(
      await first.orphans(signal),
      entries.map((entry, i) => ({ id: ids[i], ...entry })),
    );
    await first.release([ids[0] ?? 0, ids[2] ?? 0], signal);
    await first.drop([ids[1] ?? 0], signal);
    t.same(await first.orphans(signal), []);
    t.same(keys(await take(first, 2)), ['gone', 'made']);
  });

  fact('orphans come at most 1,000 at a time', async (t, { first, second, killSecond }) => {
    await second.note(
      Array.from({ length: 1_100 }, (_, i) => created(`k${i}`)),
      signal,
    );
    await killSecond();
    const found = await first.orphans(signal);
    t.equal(found.length, 1_000);
    await first.drop(
      found.map((entry) => entry.id),
      signal,
    );
    t.equal((await first.orphans(signal)).length, 100);
  });
}
