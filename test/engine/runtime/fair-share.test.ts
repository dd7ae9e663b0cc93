import t from 'tap';
import { fairShare as planned, Turns } from '../../../engine/runtime/fair-share.ts';
import { laneWorld } from '../jobs/lane-world.ts';

const held = (counts: Readonly<Record<string, number>>): string[] =>
  Object.entries(counts).flatMap(([tenant, count]) => Array<string>(count).fill(tenant));

const fairShare = (places: Parameters<typeof planned<string>>[0]) => {
  const { each: _, ...plan } = planned(places);
  return plan;
};

t.test('a tenant holds at most all workers but one', (t) => {
  const places = { workers: 4, room: 14 };
  t.strictSame(fairShare({ ...places, held: [] }), { limit: 3, withheld: [], crowded: [] });
  t.strictSame(fairShare({ ...places, held: held({ ada: 2 }) }), { limit: 1, withheld: [], crowded: ['ada'] });
  t.strictSame(fairShare({ ...places, held: held({ ada: 3 }) }), { limit: 3, withheld: ['ada'], crowded: ['ada'] });
  t.strictSame(fairShare({ ...places, held: held({ ada: 3, bob: 2 }) }), {
    limit: 1,
    withheld: ['ada'],
    crowded: ['bob', 'ada'],
  });
  t.end();
});

t.test('a queue that bounds each tenant is told what each holds, without what has just ended', (t) => {
  const { each } = planned({ workers: 4, room: 14, held: held({ ada: 2, bob: 1 }), left: ['ada', 'cyd'] });
  t.strictSame(each, { most: 3, held: { ada: 2, bob: 1 } });
  t.strictSame(planned({ workers: 1, room: 1, held: [] }).each, { most: 1, held: {} });
  t.end();
});

t.test('a tenant that comes always finds a worker, or is the next where there is a single one', (t) => {
  for (let workers = 1; workers <= 20; workers++) {
    const all = fairShare({ workers, room: workers + 10, held: [] }).limit;
    t.equal(all, Math.max(1, workers - 1));
    const full = fairShare({ workers, room: workers + 10 - all, held: held({ ada: all }) });
    t.strictSame(full.withheld, ['ada']);
    t.ok(full.limit > 0, 'room for another');
  }
  t.end();
});

t.test('who has, or just had, half of the workers comes after others', (t) => {
  const crowded = (workers: number, now: string[], left: string[]) =>
    fairShare({ workers, room: 9, held: now, left }).crowded;
  t.strictSame(crowded(1, [], ['ada']), ['ada']);
  t.strictSame(crowded(4, ['ada'], ['ada']), ['ada']);
  t.strictSame(crowded(4, ['ada'], ['bob']), []);
  t.strictSame(crowded(5, held({ ada: 3, bob: 2 }), []), ['ada']);
  t.end();
});

t.test('never claims more than there is room for', (t) => {
  t.strictSame(fairShare({ workers: 4, room: 0, held: [] }), { limit: 0, withheld: [], crowded: [] });
  t.strictSame(fairShare({ workers: 1, room: 2, held: held({ ada: 1 }) }), {
    limit: 1,
    withheld: ['ada'],
    crowded: ['ada'],
  });
  t.end();
});

t.test('of the jobs in memory, the first of the tenant with the fewest running begins', async (t) => {
  // Tens are the tenant.
  const tenantOf = ({ id }: { readonly id: number }): string => String(Math.floor(id / 10));
  const { begun, finish, add } = await laneWorld(t, { queueSize: 8, tenantOf });
  await add(10, 11, 12, 13, 20, 30, 31);
  t.strictSame(begun, [10, 11]);
  await finish(10);
  t.strictSame(begun, [10, 11, 20]);
  await finish(11);
  t.strictSame(begun, [10, 11, 20, 30], 'not of those that have had their turn');
  await finish(20);
  t.strictSame(begun, [10, 11, 20, 30, 12]);
  await finish(30);
  t.strictSame(begun, [10, 11, 20, 30, 12, 31], 'the one with the fewest running');
});

t.test('the fewest running come first, then those that began longest ago', (t) => {
  const turns = new Turns();
  for (const tenant of ['a', 'b', 'a']) turns.began(tenant);
  const first = (running: Readonly<Record<string, number>>): string | undefined =>
    Object.keys(running).sort((a, b) => turns.rankOf(a, running[a] ?? 0) - turns.rankOf(b, running[b] ?? 0))[0];
  t.equal(first({ a: 0, b: 1 }), 'a');
  t.equal(first({ a: 1, b: 1 }), 'b');
  t.equal(first({ a: 0, b: 0, c: 0 }), 'c', 'one that never began');
  t.end();
});

t.test('no more than a thousand tenants are remembered, the latest', (t) => {
  const turns = new Turns();
  for (let i = 0; i <= 1_000; i++) turns.began(String(i));
  t.strictSame([turns.rankOf('0', 0), turns.rankOf('1', 0), turns.rankOf('1000', 0)], [0, 2, 1_001]);
  t.end();
});

t.test('a tenant that began again counts among the latest', (t) => {
  const turns = new Turns();
  for (let i = 0; i < 1_000; i++) turns.began(String(i));
  for (const tenant of ['0', 'new']) turns.began(tenant);
  t.strictSame([turns.rankOf('0', 0), turns.rankOf('1', 0)], [1_001, 0]);
  t.end();
});
