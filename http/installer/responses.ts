// What routes say about their answers.

import type { TSchema } from 'typebox';
import type { RouteResponse } from '../route.ts';
import { Problem } from './schema/problem.ts';

export const answer = (description: string, schema: TSchema): RouteResponse => ({
  description,
  schema: { ...schema },
});

/** Error answers by code, with the two that every route of a user has. */
export function refusals(byCode: Readonly<Record<number, string>>): Readonly<Record<number, RouteResponse>> {
  const all = { 401: 'No valid bearer token', ...byCode, 500: 'Internal error' };
  return Object.fromEntries(Object.entries(all).map(([code, description]) => [code, answer(description, Problem)]));
}
