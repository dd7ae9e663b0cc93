// The messages that the sources log at info or above, found in their text: the last argument of each call of a logger's
// info, warn, error or fatal. A message that a function is given is looked for in the calls of that function.

export interface LoggedMessage {
  readonly message: string;
  /** In alphabetical order. */
  readonly levels: readonly string[];
}

const LEVELS = ['info', 'warn', 'error', 'fatal'];
/** `log.warn(`, `this.#log[level](`, `ports.log.info(` .. */
const CALL = /(?<![\w$])(?:[\w.#]*\.)?#?log(?:\.(info|warn|error|fatal)|\[([^\]]+)\])\(/g;
/** A part of a message that is known at run time only. */
export const VARIABLE = '…';

/** Messages of one file, by what is logged. Throws where the message of a call cannot be told. */
export function loggedMessages(source: string): readonly LoggedMessage[] {
  const code = source.replace(/^\s*\/\/.*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '');
  const found: { message: string; levels: readonly string[] }[] = [];
  for (const call of code.matchAll(CALL)) {
    const [text, level, computed] = call;
    const before = code.slice(0, call.index);
    const levels = level === undefined ? levelsOf(computed ?? '', before) : [level];
    const last = argumentsFrom(code, call.index + text.length).at(-1) ?? '';
    for (const one of messagesOf(last, code, before)) found.push({ levels, ...one });
  }
  const messages = [...new Set(found.map(({ message }) => message))].sort();
  return messages.map((message) => {
    const levels = found.filter((one) => one.message === message).flatMap((one) => one.levels);
    return { message, levels: [...new Set(levels)].filter((level) => LEVELS.includes(level)).sort() };
  });
}

/** Of a computed one: what it is made of, there or where the variable of that name was declared last. */
function levelsOf(expression: string, before: string): readonly string[] {
  const name = expression.trim();
  const declared = [...before.matchAll(new RegExp(`\\b${name}(?: = ([^;]*);|: ([^,)=]*)[,)])`, 'g'))].at(-1);
  const text = /^\w+$/.test(name) ? (declared?.[1] ?? declared?.[2] ?? '') : expression;
  return [...text.matchAll(/'(debug|info|warn|error|fatal)'/g)].map(([, level = '']) => level);
}

interface Told {
  readonly message: string;
  /** Where it is told together with the message. */
  readonly levels?: readonly string[];
}

function messagesOf(expression: string, code: string, before: string): readonly Told[] {
  const text = expression.trim();
  const literals = [...text.matchAll(/'((?:[^'\\]|\\.)*)'/g)].map(([, message = '']) => ({ message }));
  if (/^'(?:[^'\\]|\\.)*'$/.test(text)) return literals;
  if (/^`[^`]*`$/.test(text)) return [{ message: text.slice(1, -1).replace(/\$\{[^}]*\}/g, VARIABLE) }];
  if (/\?\s*'.*'\s*:\s*'/s.test(text)) return literals;
  const chosen = /\? (\w+) : (\w+)$/.exec(text);
  if (chosen) return chosen.slice(1).flatMap((name) => messagesOf(name, code, before));
  if (/^\w+$/.test(text)) {
    const [, constant] = new RegExp(`const ${text} =\\s*'([^']*)'`).exec(code) ?? [];
    if (constant !== undefined) return [{ message: constant }];
    const owner = [...before.matchAll(new RegExp(`(#?\\w+)\\((?=[^()]*\\b${text}: string)`, 'g'))].at(-1);
    if (owner) {
      const place = argumentsFrom(code, owner.index + owner[0].length).findIndex((one) => one.trim().startsWith(text));
      const calls = [...code.matchAll(new RegExp(`this\\.${owner[1]}\\(`, 'g'))];
      return calls.flatMap((call) => {
        const given = argumentsFrom(code, call.index + call[0].length);
        const levels = LEVELS.filter((level) => given.some((argument) => argument.trim() === `'${level}'`));
        return messagesOf(given[place] ?? '', code, before).map((one) =>
          levels.length > 0 ? { levels, ...one } : one,
        );
      });
    }
  }
  throw new Error(`no message can be told of the log call with '${text}'`);
}

/** The arguments of the call whose opening parenthesis ends just before `from`. */
function argumentsFrom(code: string, from: number): readonly string[] {
  const all: string[] = [];
  let depth = 0;
  let start = from;
  for (let at = from; at < code.length; at++) {
    const sign = code[at] ?? '';
    if (`'"\``.includes(sign)) at = endOfString(code, at);
    else if ('([{'.includes(sign)) depth++;
    else if (depth === 0 && (sign === ')' || sign === ',')) {
      const argument = code.slice(start, at);
      if (argument.trim() !== '') all.push(argument);
      start = at + 1;
      if (sign === ')') return all;
    } else if (')]}'.includes(sign)) depth--;
  }
  throw new Error('a call without an end');
}

function endOfString(code: string, begin: number): number {
  for (let at = begin + 1; at < code.length; at++) {
    if (code[at] === '\\') at++;
    else if (code[at] === code[begin]) return at;
  }
  throw new Error('a string without an end');
}
