// Which metrics an expression of Prometheus speaks of, and with which labels: enough of its grammar to tell them from
// functions, labels and numbers. Whether an expression is sound at all is for promtool to say.

export interface Mention {
  readonly metric: string;
  /** Of its own matchers. */
  readonly labels: readonly string[];
}

const WORDS = new Set(
  ['and or unless bool offset', 'sum max min avg count quantile topk bottomk group', 'inf nan'].flatMap((line) =>
    line.split(' '),
  ),
);
/** A list of labels after by, on and the like; a string; a range; a number or duration; a word and what follows it. */
const TOKEN =
  /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\b\d[\w.]*|([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?/g;

export function mentionsIn(expression: string): readonly Mention[] {
  const found: Mention[] = [];
  for (const [, word, rest = ''] of expression.matchAll(TOKEN)) {
    if (word === undefined || rest === '(' || WORDS.has(word.toLowerCase())) continue;
    const labels = [...rest.matchAll(/([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"/g)].map(
      ([, label = '']) => label,
    );
    found.push({ metric: word, labels });
  }
  return found;
}

/** Labels that an expression groups or joins by. */
export const groupingsIn = (expression: string): readonly string[] =>
  [...expression.matchAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g)].flatMap(
    ([, list = '']) =>
      list
        .split(',')
        .map((label) => label.trim())
        .filter(Boolean),
  );
