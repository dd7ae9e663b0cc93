import fc from 'fast-check';
import t from 'tap';
import { Slots } from '../../../engine/threads/slots.ts';

interface Item {
  readonly name: number;
}

/** Puts one in, or takes out the one that has been there for the longest but `take` others. */
type Step = 'put' | { readonly take: number };

const step = fc.oneof(
  fc.constant<Step>('put'),
  fc.nat(5).map((take): Step => ({ take })),
);

const namesOf = (items: Iterable<Item>): ReadonlySet<number> => new Set([...items].map(({ name }) => name));

t.test('what is there goes by a number that nothing else there has', (t) => {
  const hold = (steps: readonly Step[]): void => {
    const slots = new Slots<Item>();
    // The obvious way: a map.
    const twin = new Map<number, Item>();
    let most = 0;
    for (const [name, one] of steps.entries()) {
      if (one === 'put') {
        const slot = slots.put({ name });
        t.notOk(twin.has(slot));
        twin.set(slot, { name });
      } else {
        const slot = [...twin.keys()][one.take] ?? 1_000;
        t.same(slots.take(slot), twin.get(slot));
        twin.delete(slot);
        t.equal(slots.take(slot), undefined);
      }
      most = Math.max(most, twin.size);
      t.equal(slots.size, twin.size);
      t.same(namesOf(slots), namesOf(twin.values()));
      t.ok([...twin.keys()].every((slot) => slot < most));
    }
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), hold), { seed: 20_261_122, numRuns: 30 });
  t.end();
});

t.test('drained, it is empty and takes others', (t) => {
  const slots = new Slots<Item>();
  for (const name of [1, 2, 3]) slots.put({ name });
  slots.take(1);
  t.same(slots.drain(), [{ name: 1 }, { name: 3 }]);
  t.same([slots.size, ...slots], [0]);
  t.same(slots.drain(), []);
  const again = [4, 5, 6, 7].map((name) => slots.put({ name }));
  t.same(
    again.toSorted((a, b) => a - b),
    [0, 1, 2, 3],
  );
  t.end();
});
