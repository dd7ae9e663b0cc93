import t from 'tap';
import { fairShare } from '../../../engine/runtime/fair-share.ts';
import { laneWorld } from '../jobs/lane-world.ts';

const held = (counts: Readonly<Record<string, number>>): string[] =>
  Object.entries(counts).flatMap(([tenant, count]) => Array<string>(count).fill(tenant));

t.test('a tenant holds at most all workers and less than half of what may wait in memory', (t) => {
  const places = { workers: 4, capacity: 10, room: 14 };
  t.strictSame(fairShare({ ...places, held: [] }), { limit: 8, withheld: [], crowded: [] });
  t.strictSame(fairShare({ ...places, held: held({ ada: 7 }) }), { limit: 1, withheld: [], crowded: ['ada'] });
  t.strictSame(fairShare({ ...places, held: held({ ada: 8 }) }), { limit: 8, withheld: ['ada'], crowded: ['ada'] });
  t.strictSame(fairShare({ ...places, held: held({ ada: 9, bob: 3 }) }), {
    limit: 5,
    withheld: ['ada'],
    crowded: ['bob', 'ada'],
  });
  t.end();
});

t.test('a tenant alone uses all workers, and one that comes always finds a place', (t) => {
  for (let workers = 1; workers <= 20; workers++)
    for (const capacity of [1, 2, 3, 10, 100]) {
      const all = fairShare({ workers, capacity, room: workers + capacity, held: [] }).limit;
      t.ok(all >= workers, 'all workers');
      t.ok((all - workers) * 2 < capacity, 'the lane goes on claiming');
      const full = fairShare({ workers, capacity, room: workers + capacity - all, held: held({ ada: all }) });
      t.strictSame(full.withheld, ['ada']);
      t.ok(full.limit > 0, 'room for another');
    }
  t.end();
});

t.test('where one worker is spared, it stays free for another', (t) => {
  const spared = (workers: number, now: string[]) =>
    fairShare({ workers, capacity: 10, room: workers + 10 - now.length, held: now, spare: true });
  t.match(spared(4, []), { limit: 3, withheld: [] });
  t.match(spared(4, held({ ada: 3 })), { limit: 3, withheld: ['ada'] });
  t.match(spared(1, []), { limit: 1 });
  t.end();
});

t.test('who has, or just had, half of the workers comes after others', (t) => {
  const crowded = (workers: number, now: string[], left: string[]) =>
    fairShare({ workers, capacity: 9, room: 9, held: now, left }).crowded;
  t.strictSame(crowded(1, [], ['ada']), ['ada']);
  t.strictSame(crowded(4, ['ada'], ['ada']), ['ada']);
  t.strictSame(crowded(4, ['ada'], ['bob']), []);
  t.strictSame(crowded(5, held({ ada: 3, bob: 2 }), []), ['ada']);
  t.end();
});

t.test('never claims more than there is room for', (t) => {
  t.strictSame(fairShare({ workers: 4, capacity: 10, room: 0, held: [] }), { limit: 0, withheld: [], crowded: [] });
  t.strictSame(fairShare({ workers: 1, capacity: 9, room: 2, held: held({ ada: 1 }) }), {
    limit: 2,
    withheld: [],
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
