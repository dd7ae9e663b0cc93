// The names of the tests of a file, found in its text.

/** Stands for a value that a template fills in. */
export const FILLED_IN = '…';

/** `t.test(`, `test(`, and `fact(` of the conformance suites, which make a test for each implementation. */
const CALL = /(?<![\w$./])(?:\w+\.)?(?:test|fact)\(\s*(?=['"`])/g;
/** A test that never runs proves nothing. One that is skipped under a condition prints why, and counts. */
const NEVER_RUNS = /^\s*,\s*\{[^}]*\b(?:todo\b|skip: (?:true|['"`]))/;

/** In the order of the file. A name that is no literal is not found, and neither is a test without a body. */
export function testNames(source: string): readonly string[] {
  const code = source.replace(/^\s*\/\/.*$/gm, '').replace(/^\s*\/\*[\s\S]*?\*\//gm, '');
  return [...code.matchAll(CALL)].flatMap((call) => {
    const { text, end } = literalAt(code, call.index + call[0].length);
    const rest = code.slice(end);
    return /^\s*,/.test(rest) && !NEVER_RUNS.test(rest) ? [text] : [];
  });
}

/** The literal that begins at `begin`, and where the code goes on behind it. */
function literalAt(code: string, begin: number): { readonly text: string; readonly end: number } {
  const quote = code[begin];
  let text = '';
  for (let at = begin + 1; at < code.length; at++) {
    if (code[at] === quote) return { text, end: at + 1 };
    if (code[at] === '\\') text += code[++at];
    else if (quote === '`' && code.startsWith('${', at)) {
      text += FILLED_IN;
      at = endOfValue(code, at + 2);
    } else text += code[at];
  }
  throw new Error(`a literal without an end: ${code.slice(begin, begin + 40)}`);
}

/** Where the brace stands that ends the value of a template. */
function endOfValue(code: string, begin: number): number {
  let depth = 1;
  for (let at = begin; at < code.length; at++) {
    const sign = code[at] ?? '';
    if (`'"\``.includes(sign)) at = literalAt(code, at).end - 1;
    else if (sign === '{') depth++;
    else if (sign === '}' && --depth === 0) return at;
  }
  throw new Error('a template without an end');
}
