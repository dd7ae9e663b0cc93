import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { flattened, Items, inTurn, mapped, opened } from '../../../engine/runtime/items.ts';
import { Semaphore } from '../../../engine/runtime/semaphore.ts';

const open = new AbortController().signal;

/** Numbered from 1, with what became of the source. */
function source(count: number) {
  const seen = { closed: 0, read: 0 };
  const read = async (): Promise<{ n: number } | undefined> => (seen.read < count ? { n: ++seen.read } : undefined);
  return { seen, items: new Items(read, () => seen.closed++) };
}

const doubled = ({ n }: { readonly n: number }): { n: number } => ({ n: 2 * n });

t.test('items come in order, changed, out of their batches, and end', async (t) => {
  t.strictSame(await Array.fromAsync(mapped(source(3).items, doubled)), [{ n: 2 }, { n: 4 }, { n: 6 }]);
  const batches = mapped(source(3).items, ({ n }) => Array.from({ length: n - 1 }, (_, i) => `${n}.${i}`));
  t.strictSame(await Array.fromAsync(flattened(batches)), ['2.0', '3.0', '3.1']);
  t.strictSame(await Array.fromAsync(opened(async () => source(2).items)), [{ n: 1 }, { n: 2 }]);
  t.strictSame(await Array.fromAsync(opened(async () => undefined)), []);
});

t.test('a source is closed once when nobody reads on or a change fails, and not when it came to its end', async (t) => {
  const left = source(3);
  for await (const _ of inTurn(
    new Semaphore(1),
    '',
    opened(async () => mapped(left.items, doubled)),
    open,
  ))
    break;
  const failed = source(3);
  const failing = mapped(failed.items, () => Promise.reject(new Error('no')));
  await t.rejects(Array.fromAsync(failing), { message: 'no' });
  t.strictSame(await failing.next(), { value: undefined, done: true });
  const whole = source(3);
  await Array.fromAsync(mapped(whole.items, doubled));
  t.strictSame([left.seen.closed, failed.seen.closed, whole.seen.closed], [1, 1, 0]);
});

t.test(
  'no more items are made at a time than there are places, and one that waits to be read takes none',
  async (t) => {
    const places = new Semaphore(2);
    let most = 0;
    const lists = Array.from({ length: 5 }, () => {
      const made = mapped(source(3).items, async (item) => {
        most = Math.max(most, places.taken);
        await new Promise(setImmediate);
        return item;
      });
      return inTurn(places, '', made, open);
    });
    await Promise.all(lists.map((list) => list.next()));
    t.equal(places.taken, 0, 'while their readers stand still');
    t.equal(most, 2);
    const rest = await Promise.all(lists.map((list) => Array.fromAsync(list)));
    t.ok(rest.every(({ length }) => length === 2));
  },
);

t.test('who waits for a place is told to stop', async (t) => {
  const places = new Semaphore(1);
  const free = await places.take(open);
  const stop = new AbortController();
  const next = inTurn(places, '', source(1).items, stop.signal).next();
  stop.abort(new Error('gone'));
  await t.rejects(next, { message: 'gone' });
  free();
  t.equal(places.taken, 0);
});

t.test('nothing keeps an item that was handed out', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const kept: WeakRef<object>[] = [];
  const watched = <Item extends object>(item: Item): Item => {
    kept.push(new WeakRef(item));
    return item;
  };
  const batches = mapped(mapped(source(3).items, watched), (item) => watched([watched({ ...item })]));
  const items = inTurn(
    new Semaphore(1),
    '',
    opened(async () => flattened(batches)),
    open,
  );
  await items.next();
  // A reference that was made or read in this turn is kept until it is over.
  await new Promise(setImmediate);
  gc();
  t.strictSame(
    kept.map((one) => one.deref()),
    [undefined, undefined, undefined],
  );
  t.equal((await Array.fromAsync(items)).length, 2);
});
