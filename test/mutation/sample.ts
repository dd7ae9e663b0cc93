// A sample by seed, drawn evenly over files: one mutant of each file in a random order, then the next of each. A sample
// of 50 is the beginning of the sample of 100 with the same seed.

import { SeededRandom } from '../simulation/random.ts';
import type { Mutant } from './mutants.ts';

/** `isSound` is asked in the order of drawing; a mutant that is not is replaced by the next. */
export function sample(
  mutants: readonly Mutant[],
  size: number,
  seed: number,
  isSound: (mutant: Mutant) => boolean,
): readonly Mutant[] {
  const byFile = new Map<string, readonly Mutant[]>();
  for (const mutant of mutants) byFile.set(mutant.file, [...(byFile.get(mutant.file) ?? []), mutant]);
  const order = shuffled([...byFile.keys()], new SeededRandom(seed, 'files'));
  // Each file has a stream of its own: a change in one leaves what is drawn from the others as it was.
  const drawn = order.map((file) => shuffled(byFile.get(file) ?? [], new SeededRandom(seed, file)));
  const chosen: Mutant[] = [];
  for (let round = 0; chosen.length < size && drawn.some((one) => one.length > round); round++) {
    for (const of of drawn) {
      const mutant = of[round];
      if (mutant && chosen.length < size && isSound(mutant)) chosen.push(mutant);
    }
  }
  return chosen;
}

function shuffled<Item>(items: readonly Item[], random: SeededRandom): readonly Item[] {
  const keyed = items.map((item) => ({ item, key: random.next() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
