// Parses a command's arguments with node:util parseArgs, strictly. Faults are usage errors with a suggestion.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { messageOf } from '../../engine/runtime/failure.ts';
import { type CommandOptions, UsageError } from './command.ts';

/** Returns the parsed options, and the positionals as given. Unknown options and missing or invalid values are usage errors. */
export function parse<const Options extends CommandOptions & ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
) {
  const { tokens } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const option: CommandOptions[string] | undefined = Object.hasOwn(options, token.name)
      ? options[token.name]
      : undefined;
    if (!option)
      throw new UsageError(`unknown option '${token.rawName}'${suggestion(token.name, Object.keys(options), '--')}`);
    if (option.values && token.value !== undefined) oneOf(`--${token.name} `, token.value, option.values);
  }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** The options of a command that takes nothing else. */
export function parseOptions<const Options extends CommandOptions & ParseArgsOptionsConfig>(
  command: string,
  args: readonly string[],
  options: Options,
) {
  const { values, positionals } = parse(args, options);
  if (positionals.length > 0) throw new UsageError(`'${positionals.join(' ')}': ${command} takes options only`);
  return values;
}

/**
 * Returns the word if it is allowed; otherwise throws a usage error that lists the allowed ones. @param what prefix for the
 * message
 */
export function oneOf<Word extends string>(what: string, text: string, allowed: readonly Word[]): Word {
  const found = allowed.find((word) => word === text);
  if (found !== undefined) return found;
  throw new UsageError(`${what}'${text}': must be one of ${allowed.join(', ')}${suggestion(text, allowed)}`);
}

/** A whole number within the bounds. Otherwise throws a usage error that names the option. */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`--${option} '${text}': must be a whole number from ${min} to ${max}`);
  return value;
}

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
