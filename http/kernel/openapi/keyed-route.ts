// What a route that takes an Idempotency-Key says besides its own (http/kernel/pipeline/idempotency.ts).

import { Problem } from '../pipeline/errors.ts';
import { answer, type Route, type RouteParameter, type RouteResponse } from '../pipeline/route.ts';

const KEY: RouteParameter = {
  description:
    'A value that the client makes up for each thing to create, such as a UUID. Repeated with the same body within 24 hours, ' +
    'the request creates nothing and gets the same answer, with `Idempotent-Replayed: true`. Quotation marks around it do not count',
  schema: { type: 'string', minLength: 1, maxLength: 257 },
};
const ANSWERS = {
  409: 'a request with the same Idempotency-Key is under way; Retry-After says when to try again',
  422: 'the Idempotency-Key belongs to another request of the caller',
} as const;

/** The route as it is documented. */
export function documented(route: Route): Route {
  if (!route.keyed) return route;
  const { headers, responses } = route;
  const added = Object.entries(ANSWERS).map(
    ([code, words]) => [code, extended(responses[Number(code)], words)] as const,
  );
  return {
    ...route,
    headers: { ...headers, 'Idempotency-Key': KEY },
    responses: { ...responses, ...Object.fromEntries(added) },
  };
}

const extended = (known: RouteResponse | undefined, words: string): RouteResponse =>
  known
    ? { ...known, description: `${known.description}; or ${words}` }
    : answer(`${words.charAt(0).toUpperCase()}${words.slice(1)}`, Problem);
