import t from 'tap';
import { Semaphore } from '../../../engine/runtime/semaphore.ts';

const never = new AbortController().signal;

/** Takes a place and notes whose it is; gives it back when told. */
function taking(places: Semaphore, order: string[], tenant?: string): Promise<() => void> {
  return places.take(never, tenant).then((free) => {
    order.push(tenant ?? '');
    return free;
  });
}

t.test('without tenants places are given out in order of request', async (t) => {
  const places = new Semaphore(1);
  const order: number[] = [];
  const first = await places.take(never);
  const others = [1, 2, 3].map((n) =>
    places.take(never).then((free) => {
      order.push(n);
      free();
    }),
  );
  t.equal(places.waiting, 3);
  first();
  await Promise.all(others);
  t.strictSame([order, places.taken, places.waiting], [[1, 2, 3], 0, 0]);
});

t.test('behind a hundred waiters of one tenant, the waiter of another is the next', async (t) => {
  const places = new Semaphore(2);
  const order: string[] = [];
  const held = [await taking(places, order, 'many'), await taking(places, order, 'many')];
  const flood = Array.from({ length: 100 }, () => taking(places, order, 'many').then((free) => free()));
  const other = taking(places, order, 'other').then((free) => free());
  held[0]?.();
  await other;
  t.strictSame(order.slice(0, 3), ['many', 'many', 'other']);
  held[1]?.();
  await Promise.all(flood);
  t.equal(places.taken, 0);
});

t.test('tenants that hold as many take turns', async (t) => {
  const places = new Semaphore(1);
  const order: string[] = [];
  const held = await taking(places, order, 'a');
  const all = ['a', 'a', 'b', 'b', 'c'].map((tenant) => taking(places, order, tenant).then((free) => free()));
  held();
  await Promise.all(all);
  t.strictSame(order, ['a', 'b', 'c', 'a', 'b', 'a']);
});

t.test('a waiter whose signal aborts leaves the line, and its place goes to the next', async (t) => {
  const places = new Semaphore(1);
  const stop = new AbortController();
  const held = await places.take(never, 'a');
  const gone = places.take(stop.signal, 'b');
  const next = places.take(never, 'c');
  stop.abort(new Error('gone'));
  await t.rejects(gone, { message: 'gone' });
  held();
  (await next)();
  t.strictSame([places.taken, places.waiting], [0, 0]);
  await t.rejects(places.take(stop.signal), { message: 'gone' });
});

t.test('a tenant that gave its only place back counts as one that holds none', async (t) => {
  const places = new Semaphore(2);
  const order: string[] = [];
  (await taking(places, order, 'a'))();
  const held = await Promise.all([taking(places, order, 'b'), taking(places, order, 'c')]);
  const waiting = ['b', 'a'].map((tenant) => taking(places, order, tenant).then((free) => free()));
  held[1]?.();
  await Promise.all(waiting);
  held[0]?.();
  t.strictSame(order, ['a', 'b', 'c', 'a', 'b']);
});
