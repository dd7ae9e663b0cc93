// Parses a command's arguments with node:util parseArgs, strictly. Faults are usage errors with a suggestion.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { CommandOptions } from './command.ts';
import { suggestion } from './nearest.ts';
import { UsageError } from './usage-error.ts';

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
