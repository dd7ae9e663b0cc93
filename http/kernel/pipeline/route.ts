// Routes as data: method, path, who may call, and the schemas of requests and responses. Tests and documentation use the list.
// `access` is required.

import type { AuditKind } from '../../../engine/model/audit.ts';
import type { Caller } from '../auth/caller.ts';
import type { ServiceToken } from '../auth/service-token.ts';
import type { RequestContext } from './context.ts';

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
export type ReadAudit = 'download' | 'none';

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
  /** Served even while a disk is full, because it frees space or writes very little. GET and DELETE always are. */
  readonly needsNoRoom?: true;
  readonly handler: (context: RequestContext) => Promise<void>;
}

export const needsRoom = ({ method, needsNoRoom }: Route): boolean =>
  method !== 'GET' && method !== 'DELETE' && needsNoRoom !== true;

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
