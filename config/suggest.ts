// The known key that a misspelt one probably meant.

/** Longer than any key of ours; the comparison below is quadratic. */
const MAX_LENGTH = 64;

/** At most two edits away (one for short keys), or equal but for case and dashes; undefined when nothing is near. */
export function suggestKey(wrong: string, known: readonly string[]): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined;
  const plain = (key: string): string => key.toLowerCase().replaceAll(/[-_]/g, '');
  const limit = wrong.length < 5 ? 1 : 2;
  let best: { readonly key: string; readonly edits: number } | undefined;
  for (const key of known) {
    const edits = plain(key) === plain(wrong) ? 0 : editsBetween(wrong, key);
    if (edits <= limit && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { key, edits };
  }
  return best?.key;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editsBetween(a: string, b: string): number {
  // A row per letter of `a`; the row before the last one is needed for swaps.
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const options = [(previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (same ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) options.push((older[j - 2] ?? 0) + 1);
      row.push(Math.min(...options));
    }
    older = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
