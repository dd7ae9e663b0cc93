// Routes as data: method, path, who may call, what comes in and goes out. Tests walk the list, documentation is made
// from it, and a route without `access` is no route.

import type { AuditKind } from '../../../engine/model/audit.ts';
import type { Caller } from '../auth/caller.ts';
import type { ServiceToken } from '../auth/service-token.ts';
import type { RequestContext } from './context.ts';

/**
 * Who may call:
 *   open            anybody, no token of a user is looked at; whoever has `token` where the route has one
 *   user            a registered user          user-or-guest   a guest's token will do
 *   user-or-admin   a user, or the admin token admin           the admin token
 *   anyone-known    a user, a guest, or the admin token
 */
export type Access = 'open' | 'user' | 'user-or-guest' | 'user-or-admin' | 'anyone-known' | 'admin';

/** What is recorded of a route that only reads: downloads of files, or nothing. Reads of administrators are, everywhere. */
export type ReadAudit = 'download' | 'none';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** JSON Schema of a parameter, a body or a response; TypeBox schemas are such. */
export type JsonSchema = object;

export interface RouteParameter {
  readonly description: string;
  /** Of query parameters and headers; default false. The handler sees to it. */
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

export interface RouteBody {
  readonly description: string;
  /** Media types that are taken, and the schema of each; `{}` where there is none to give. */
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
  /** As find-my-way reads it: `/datasets/:id/files`. HEAD is served wherever GET is. */
  readonly path: string;
  readonly access: Access;
  /** Of an open route: the secret that its callers share. */
  readonly token?: ServiceToken;
  /** Of each route that reads and is not for administrators alone; what the others are follows from what they are. */
  readonly audit?: ReadAudit;
  readonly operationId: string;
  readonly summary: string;
  /** Query parameters by name; others are refused with 400. Absent = none. */
  readonly query?: Readonly<Record<string, RouteParameter>>;
  /** Path parameters and request headers by name, for the documentation: the handler checks them. */
  readonly params?: Readonly<Record<string, RouteParameter>>;
  readonly headers?: Readonly<Record<string, RouteParameter>>;
  readonly body?: RouteBody;
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Accepts the token as `access_token` in the query (downloads by browsers). */
  readonly queryToken?: boolean;
  /** Makes room, or writes next to nothing: served while a disk is full. Of GET and DELETE it is taken for granted. */
  readonly needsNoRoom?: true;
  readonly handler: (context: RequestContext) => Promise<void>;
}

export const needsRoom = ({ method, needsNoRoom }: Route): boolean =>
  method !== 'GET' && method !== 'DELETE' && needsNoRoom !== true;

/** What every answer of the route is recorded as; undefined = refusals alone, and what administrators read. */
export function auditOf({ method, access, audit }: Pick<Route, 'method' | 'access' | 'audit'>): AuditKind | undefined {
  if (method !== 'GET') return 'change';
  if (access === 'admin') return 'admin-read';
  return audit === 'download' ? 'download' : undefined;
}

/** The caller as the route's access demands it. */
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
