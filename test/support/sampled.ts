// The rows of a matrix that a run takes: all of them, or, where the runner was given `--sample N`, one in N, chosen by
// the seed. The same seed chooses the same rows, so a failure can be repeated.

import { createHash } from 'node:crypto';

const { LONGSHORE_TEST_SAMPLE: oneIn = '1', LONGSHORE_TEST_SEED: seed = '1' } = process.env;

/** `keyOf` names a row; no two rows of a matrix may have the same name. At least one row stays. */
export function sampled<T>(rows: readonly T[], keyOf: (row: T) => string): readonly T[] {
  return sample(rows, keyOf, Number(oneIn), seed);
}

/** Keeps the order of the rows. */
export function sample<T>(rows: readonly T[], keyOf: (row: T) => string, oneIn: number, seed: string): readonly T[] {
  if (oneIn === 1) return rows;
  const ranked = rows.map((row, at) => ({
    at,
    rank: createHash('sha256')
      .update(`${seed} ${keyOf(row)}`)
      .digest('hex'),
  }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const chosen = new Set(ranked.slice(0, Math.ceil(rows.length / oneIn)).map(({ at }) => at));
  return rows.filter((_, at) => chosen.has(at));
}
