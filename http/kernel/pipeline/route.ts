// Routes as data: method, path, who may call, and the schemas of requests and responses. Tests and documentation use the list.
// `access` is required.

import findMyWay, { type HTTPMethod } from 'find-my-way';
import type { TSchema } from 'typebox';
import type { AuditKind } from '../../../engine/model/audit.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceToken } from '../auth/token-guesses.ts';
import type { RequestContext } from './context.ts';
import { badRequest, HttpError, notFound, Problem } from './errors.ts';

/**
 * Who may call:
 *   open            anybody, user tokens are ignored; if the route has a `token`, only callers who send it
 *   user            a registered user          user-or-guest   a user or a guest
 *   user-or-admin   a user or an administrator admin           an administrator
 *   anyone-known    a user, a guest or an administrator
 * Administrators are callers with the admin token, and operators (authenticate.ts).
 */
export type Access = 'open' | 'user' | 'user-or-guest' | 'user-or-admin' | 'anyone-known' | 'admin';

/** What is recorded for a route that only reads: downloads, or nothing. Reads by administrators are always recorded. */
type ReadAudit = 'download' | 'none';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** JSON Schema of a parameter, a body or a response, for example a TypeBox schema. */
export type JsonSchema = object;

export interface RouteParameter {
  readonly description: string;
  /** For query parameters and headers; default false. The handler has to check it. */
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

export interface RouteBody {
  readonly description: string;
  /** The accepted media types with their schemas; `{}` if there is no schema. */
  readonly content: Readonly<Record<string, JsonSchema>>;
}

export interface RouteResponse {
  readonly description: string;
  /** Media type; default application/json when there is a schema. */
  readonly contentType?: string;
  readonly schema?: JsonSchema;
  /** Further media types with their schemas. */
  readonly also?: Readonly<Record<string, JsonSchema>>;
  /** Headers of this response alone, by name. */
  readonly headers?: Readonly<Record<string, Omit<RouteParameter, 'required'>>>;
}

export interface Route {
  readonly method: Method;
  /** In the syntax of find-my-way: `/datasets/:id/files`. A GET route also serves HEAD. */
  readonly path: string;
  readonly access: Access;
  /** For an open route: the secret that its callers share. */
  readonly token?: ServiceToken;
  /** Required for GET routes, except those for administrators only. For other routes see {@link auditOf}. */
  readonly audit?: ReadAudit;
  readonly operationId: string;
  readonly summary: string;
  /** Query parameters by name. Others are refused with 400. Absent = none. */
  readonly query?: Readonly<Record<string, RouteParameter>>;
  /** Path parameters and request headers by name, for the documentation. The handler has to check them. */
  readonly params?: Readonly<Record<string, RouteParameter>>;
  readonly headers?: Readonly<Record<string, RouteParameter>>;
  readonly body?: RouteBody;
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Accepts the token as `access_token` in the query (downloads by browsers). */
  readonly queryToken?: boolean;
  /** Headers of all responses of the route, and of responses to OPTIONS for its path. */
  readonly standing?: Readonly<Record<string, string>>;
  /** Takes an Idempotency-Key. The handler creates by `context.once` or `context.onceFor`. */
  readonly keyed?: true;
  /** Served even while a disk is full, because it frees space or writes very little. GET and DELETE always are. */
  readonly servedWhenFull?: true;
  /** Responses may last as long as the client listens. Their duration is not measured. */
  readonly lasting?: true;
  readonly handler: (context: RequestContext) => Promise<void>;
}

export const needsRoom = ({ method, servedWhenFull }: Route): boolean =>
  method !== 'GET' && method !== 'DELETE' && servedWhenFull !== true;

/** The kind under which responses of the route are recorded. Undefined = only refusals and reads by administrators are. */
export function auditOf({ method, access, audit }: Pick<Route, 'method' | 'access' | 'audit'>): AuditKind | undefined {
  if (method !== 'GET') return 'change';
  if (access === 'admin') return 'admin-read';
  return audit === 'download' ? 'download' : undefined;
}

/** True when the route's access admits the caller. */
export const isAllowed = (access: Access, caller: Caller): boolean => {
  switch (access) {
    case 'open':
      return true;
    case 'user':
      return caller.kind === 'user';
    case 'user-or-guest':
      return caller.kind === 'user' || caller.kind === 'guest';
    case 'user-or-admin':
      return caller.kind === 'user' || caller.kind === 'admin';
    case 'anyone-known':
      return caller.kind !== 'anonymous';
    case 'admin':
      return caller.kind === 'admin';
    default:
      return access satisfies never;
  }
};

/** What routes say about their answers. */
export const answer = (description: string, schema: TSchema): RouteResponse => ({
  description,
  schema: { ...schema },
});

/** Error responses by code, with those that every route may have. */
export function refusals(byCode: Readonly<Record<number, string>>): Readonly<Record<number, RouteResponse>> {
  const all = {
    400: 'A header or query parameter is not understood',
    401: 'No valid bearer token',
    429: 'Too many requests; Retry-After says when to try again',
    431: 'The request line and the headers are too large: more than 16 KiB',
    ...byCode,
    500: 'Internal error',
    503: 'A part of the service cannot be reached just now, or it is stopping; Retry-After says when to try again',
  };
  return Object.fromEntries(Object.entries(all).map(([code, description]) => [code, answer(description, Problem)]));
}

// Finds the route of a request.

/** Long enough for a file name of 255 bytes, all of them percent-encoded. */
const LONGEST_PARAMETER = 1024;
const SHOWN_PATH = 200;

export interface Found {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export class Router {
  readonly #finder = findMyWay({ maxParamLength: LONGEST_PARAMETER, ignoreDuplicateSlashes: false });
  readonly #basePath: string;

  /** @param basePath prefix that a proxy in front may leave on the path; empty = none */
  constructor(routes: readonly Route[], basePath = '') {
    this.#basePath = basePath;
    for (const route of routes) this.#finder.on(route.method, route.path, () => undefined, { route });
  }

  /** Throws 404 for an unknown path, 405 with `Allow` for another method, and 400 for a path that cannot be decoded. */
  find(method: string, path: string): Found {
    const found = this.#lookup(method === 'HEAD' ? 'GET' : method, path);
    if (found) return found;
    if (!isDecodable(path))
      throw badRequest('the path cannot be decoded: it must be percent-encoded UTF-8 without NUL');
    const allow = this.methodsOf(path).join(', ');
    const shown = path.length > SHOWN_PATH ? `${path.slice(0, SHOWN_PATH)}...` : path;
    if (allow === '') throw notFound(`nothing is at ${shown}`);
    throw new HttpError('bad-method', `${method} is not for ${shown}; allowed: ${allow}`, { headers: { allow } });
  }

  /** The methods of a path; empty = the path is unknown. */
  methodsOf(path: string): readonly string[] {
    const methods = METHODS.filter((method) => this.#lookup(method, path));
    if (methods.length === 0) return [];
    return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
  }

  /** The `standing` headers of all routes of the path. */
  standingOf(path: string): Readonly<Record<string, string>> {
    return Object.assign({}, ...METHODS.map((method) => this.#lookup(method, path)?.route.standing));
  }

  #lookup(method: string, path: string): Found | undefined {
    const found = this.#match(method, path);
    if (found || this.#basePath === '' || !path.startsWith(`${this.#basePath}/`)) return found;
    return this.#match(method, path.slice(this.#basePath.length));
  }

  #match(method: string, path: string): Found | undefined {
    // Stricter than find-my-way, which also accepts an absolute URL, a fragment, and a NUL in a parameter.
    const isEncoded = path.includes('%');
    if (!path.startsWith('/') || path.includes('#') || (isEncoded && !isDecodable(path))) return undefined;
    const match = this.#finder.find(method as HTTPMethod, path);
    if (!match) return undefined;
    const { route } = match.store as { readonly route: Route };
    if (isEncoded && !isSpelledAs(route.path, path)) return undefined;
    return { route, params: match.params as Record<string, string> };
  }
}

/** A route has one spelling: if a proxy blocks `/admin`, a client must not bypass it with `/%61dmin`. */
function isSpelledAs(pattern: string, path: string): boolean {
  const segments = path.split('/');
  return pattern.split('/').every((segment, i) => segment.startsWith(':') || segment === segments[i]);
}

function isDecodable(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
}
