// What `q` of a list means: words that all have to occur, "phrases", `or` between words, `-` before what must not occur, and `*`
// after the beginning of a word. A name with punctuation, such as PF3D7_0417200, is a phrase of its parts: texts are indexed so
// (engine/adapters/migrations/cache, `words_of`).

import type { SearchWords } from '../../engine/ports/dataset-queries.ts';

/** A word or a phrase, with `-` before it. The last phrase need not be closed. */
const TERM = /(-?)(?:"([^"]*)"?|([^\s"]+))/g;
const PUNCTUATION = /[!-/:-@[-`{-~\s]+/;
const SHORTEST_BEGINNING = 3;

/** Throws what `fault` makes of a sentence that continues `query parameter 'q'`. */
export function searchOf(q: string, fault: (sentence: string) => Error): SearchWords {
  const words: string[] = [];
  const beginnings: string[] = [];
  for (const [, minus = '', phrase, bare = ''] of q.matchAll(TERM)) {
    const parts = (phrase ?? bare).split(PUNCTUATION).filter((part) => part !== '');
    const last = parts.at(-1);
    if (last === undefined) continue;
    if (phrase === undefined && bare.endsWith('*')) {
      if ([...last].length < SHORTEST_BEGINNING)
        throw fault(`has '${bare}': a beginning has at least ${SHORTEST_BEGINNING} characters before '*'`);
      beginnings.push(`${minus === '' ? '' : '!'}(${parts.map((part) => `'${part.toLowerCase()}'`).join(' <-> ')}:*)`);
    } else words.push(phrase === undefined && parts.length === 1 ? minus + last : `${minus}"${parts.join(' ')}"`);
  }
  if (words.length + beginnings.length === 0) throw fault('has no word: expected letters or digits');
  if (beginnings.length > 0 && words.some((word) => word.toLowerCase() === 'or'))
    throw fault("has both 'or' and '*': expected one of them");
  return { words: words.join(' '), beginnings: beginnings.join(' & ') };
}
