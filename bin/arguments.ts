// Arguments of a command by node:util parseArgs, strict, with faults as usage errors.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { messageOf } from '../engine/failure.ts';
import { UsageError } from './usage-error.ts';

/** Parsed options, and the positionals as given. Unknown options and missing values are usage errors. */
export function parse<const Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** A whole number within the bounds, or a usage error that names the option. */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`--${option} '${text}': a whole number from ${min} to ${max} is needed`);
  return value;
}
