// Operators are people: a claim of their tokens says so, in words that the configuration lists.

import type { OperatorRole } from './caller.ts';

export interface OperatorClaims {
  /** Name of the claim, or a path with dots into claims that are objects. */
  readonly claim: string;
  /** Values that make an operator, and those that make an observer. */
  readonly operator: readonly string[];
  readonly observer: readonly string[];
}

/** Undefined for everybody else, and for a claim that is neither a text nor a list of texts. */
export function operatorRole(
  claims: Readonly<Record<string, unknown>>,
  settings: OperatorClaims | undefined,
): OperatorRole | undefined {
  if (!settings) return undefined;
  const found = Object.hasOwn(claims, settings.claim) ? claims[settings.claim] : at(claims, settings.claim.split('.'));
  const words = (Array.isArray(found) ? found : [found]).filter((word) => typeof word === 'string');
  if (words.some((word) => settings.operator.includes(word))) return 'operator';
  return words.some((word) => settings.observer.includes(word)) ? 'observer' : undefined;
}

function at(claims: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return claims;
  if (typeof claims !== 'object' || claims === null || !Object.hasOwn(claims, name)) return undefined;
  return at((claims as Readonly<Record<string, unknown>>)[name], rest);
}
