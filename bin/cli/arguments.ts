// Parses a command line by the command's spec, strictly. Faults are usage errors with a suggestion.

import { parseArgs } from 'node:util';
import { parseDuration } from '../../engine/runtime/duration.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import {
  type ArgumentSpec,
  type ArgumentSpecs,
  type ArgumentValues,
  type Command,
  type CommandIo,
  type CommandSpec,
  type ExitCode,
  type OptionSpec,
  type OptionSpecs,
  type OptionValues,
  UsageError,
} from './command.ts';

export interface ParsedCall<Arguments extends ArgumentSpecs, Options extends OptionSpecs> {
  readonly args: ArgumentValues<Arguments>;
  readonly values: OptionValues<Options>;
}

/** A command that does what `run` does with its parsed arguments. */
export function implement<Arguments extends ArgumentSpecs, Options extends OptionSpecs>(
  spec: CommandSpec<Arguments, Options>,
  run: (call: ParsedCall<Arguments, Options>, io: CommandIo) => Promise<ExitCode>,
): Command {
  return { spec, run: async (words, io) => await run(parse(words, spec), io) };
}

/** Unknown options, and missing, surplus or invalid values, are usage errors. */
export function parse<Arguments extends ArgumentSpecs, Options extends OptionSpecs>(
  words: readonly string[],
  spec: Pick<CommandSpec<Arguments, Options>, 'arguments' | 'options'>,
): ParsedCall<Arguments, Options> {
  const options: OptionSpecs = spec.options;
  const { tokens } = parseArgs({ args: [...words], options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (!option)
      throw new UsageError(`unknown option '${token.rawName}'${suggestion(token.name, Object.keys(options), '--')}`);
    if (option.type === 'string' && option.values && token.value !== undefined)
      oneOf(`--${token.name} `, token.value, option.values);
  }
  const { values: given, positionals } = parseStrictly(words, options);
  // What is missing is reported in the order in which people write it: arguments first.
  const args = argumentsOf(positionals, spec.arguments);
  const values = Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, given[name] ?? unlessGiven(name, option)]),
  );
  // The types of both follow from the spec, and so do their values.
  return { args: args as ArgumentValues<Arguments>, values: values as OptionValues<Options> };
}

function parseStrictly(words: readonly string[], options: OptionSpecs) {
  try {
    return parseArgs({ args: [...words], options: undefaulted(options), allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** Only what parseArgs has to know. */
const undefaulted = (options: OptionSpecs) =>
  Object.fromEntries(
    Object.entries(options).map(([name, option]) => [
      name,
      { type: option.type, multiple: option.type === 'string' && option.multiple === true },
    ]),
  );

function unlessGiven(name: string, option: OptionSpec): string | boolean | readonly string[] | undefined {
  if (option.type === 'boolean') return false;
  if ('required' in option) throw new UsageError(`--${name} ${option.value} is required: ${option.what}`);
  if (option.multiple) return [];
  return 'default' in option ? option.default : undefined;
}

function argumentsOf(positionals: readonly string[], specs: ArgumentSpecs): Readonly<Record<string, unknown>> {
  const left = [...positionals];
  const found: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const words = spec.many ? left.splice(0) : left.splice(0, 1);
    if (words.length === 0 && !spec.optional)
      throw new UsageError(`${argumentName(name)} is required: ${spec.what}${allowed(spec)}`);
    if (spec.values) for (const word of words) oneOf('', word, spec.values);
    found[name] = spec.many ? words : words[0];
  }
  if (left.length > 0) throw new UsageError(`'${left.join(' ')}' is not expected here`);
  return found;
}

const allowed = ({ values }: ArgumentSpec): string => (values ? `, one of ${values.join(', ')}` : '');

/** As people see it: `ID` for `id`. */
export const argumentName = (name: string): string => name.toUpperCase();

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

const LONGEST = '36500d';

/** Milliseconds. The longest duration is a century, so that a time that it leads to is a date. */
export function durationOf(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0 || ms > (parseDuration(LONGEST) ?? 0))
    throw new UsageError(`--${option} '${text}': must be a duration such as 30m, 2h or 1d, at most ${LONGEST}`);
  return ms;
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
