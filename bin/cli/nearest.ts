// Suggestions for mistyped words.

/** The known word with the smallest edit distance, if the distance is small for its length. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly word: string; readonly changes: number } | undefined;
  for (const candidate of known) {
    const changes = changesBetween(word.toLowerCase(), candidate.toLowerCase());
    if (
      changes <= Math.max(1, Math.floor(candidate.length / 3)) &&
      changes < (best?.changes ?? Number.POSITIVE_INFINITY)
    )
      best = { word: candidate, changes };
  }
  return best?.word;
}

/** `; did you mean 'x'?`, or an empty string. */
export function suggestion(word: string, known: Iterable<string>, prefix = ''): string {
  const found = nearest(word, known);
  return found === undefined ? '' : `; did you mean '${prefix}${found}'?`;
}

/** Edit distance with deletions, insertions, replacements and transpositions (optimal string alignment). */
function changesBetween(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1);
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length] ?? 0;
}
