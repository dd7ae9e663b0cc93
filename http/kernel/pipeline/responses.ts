// Descriptions of the responses of routes, for the documentation.

import type { TSchema } from 'typebox';
import { Problem } from './errors.ts';
import type { RouteResponse } from './route.ts';

export const answer = (description: string, schema: TSchema): RouteResponse => ({
  description,
  schema: { ...schema },
});

/** Error responses by code, with those that every route may have. */
export function refusals(byCode: Readonly<Record<number, string>>): Readonly<Record<number, RouteResponse>> {
  const all = {
    400: 'A header or query parameter is not understood',
    401: 'No valid bearer token',
    ...byCode,
    500: 'Internal error',
    503: 'A part of the service cannot be reached just now, or it is stopping; Retry-After says when to try again',
  };
  return Object.fromEntries(Object.entries(all).map(([code, description]) => [code, answer(description, Problem)]));
}
