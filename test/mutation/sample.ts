// A sample by seed, drawn evenly over files: one mutant of each file, then the next of each. A sample of 50 is the
// beginning of the sample of 100 with the same seed.
//
// What is drawn depends on the mutant's text alone: a change elsewhere in the tree or in the file leaves its place in
// the order as it was.

import { createHash } from 'node:crypto';
import { entryOf } from './equivalents.ts';
import type { Mutant } from './mutants.ts';

/** `isSound` is asked in the order of drawing; a mutant that is not is replaced by the next. */
export function sample(
  mutants: readonly Mutant[],
  size: number,
  seed: number,
  isSound: (mutant: Mutant) => boolean,
): readonly Mutant[] {
  const byFile = Map.groupBy(mutants, ({ file }) => file);
  const order = drawn([...byFile.keys()], (file) => `${seed} ${file}`);
  const ofEach = order.map((file) =>
    drawn(byFile.get(file) ?? [], (mutant) => `${seed} ${JSON.stringify(entryOf(mutant))}`),
  );
  const chosen: Mutant[] = [];
  for (let round = 0; chosen.length < size && ofEach.some((one) => one.length > round); round++) {
    for (const one of ofEach) {
      const mutant = one[round];
      if (mutant && chosen.length < size && isSound(mutant)) chosen.push(mutant);
    }
  }
  return chosen;
}

/** In an order that looks like chance. Two that are named alike keep theirs. */
function drawn<Item>(items: readonly Item[], nameOf: (item: Item) => string): readonly Item[] {
  const keyed = items.map((item) => ({ item, key: createHash('sha256').update(nameOf(item)).digest('hex') }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key))).map(({ item }) => item);
}
