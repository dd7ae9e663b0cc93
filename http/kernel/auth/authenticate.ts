// Identifies the caller, and refuses callers who may not call the route (docs/contract/installer.md#authentication).

import type { IncomingMessage } from 'node:http';
import { badRequest, forbidden, unauthorized } from '../pipeline/errors.ts';
import { type Access, isAllowed, type Route } from '../pipeline/route.ts';
import { ANONYMOUS, type Caller } from './caller.ts';
import { sameSecret, type TokenGuesses } from './token-guesses.ts';
import type { TokenVerifier } from './tokens.ts';

export interface AuthSettings {
  /** Undefined refuses every administrator. */
  readonly adminToken: string | undefined;
  /** Undefined refuses every user. */
  readonly verify: TokenVerifier | undefined;
  /** One per process: its front ends share it, so that none bypasses the limit. */
  readonly guesses: TokenGuesses;
  /** Whether tokens may identify operators. */
  readonly operators: boolean;
  /** Accepts `access_token` in the query, on routes that allow it. */
  readonly queryToken: boolean;
  /** Called for every verified caller, so that names can be shown to others (profile-memory.ts). Must not reject. */
  readonly remember: (caller: Caller) => Promise<void>;
}

/**
 * Headers besides Authorization that may contain the token, with or without `Bearer`, in every service: deployed front ends
 * send them. There are two spellings because proxies drop names with `_`. Different tokens in one request are refused.
 */
const TOKEN_HEADERS = ['auth_key', 'auth-key'];

const TAKES_ADMIN: ReadonlySet<Access> = new Set(['admin', 'user-or-admin', 'anyone-known']);

/** @param known called with the caller, even if it is then refused */
export async function authenticate(
  route: Route,
  request: IncomingMessage,
  search: URLSearchParams,
  settings: AuthSettings,
  known: (caller: Caller) => void = () => {},
): Promise<Caller> {
  if (route.access === 'open') return ANONYMOUS;
  const identified = await identify(route, request, search, settings);
  known(identified);
  const caller = asOperator(route, identified);
  if (caller.kind === 'anonymous') throw unauthorized(needed(route.access));
  if (!isAllowed(route.access, caller)) throw forbidden(needed(route.access));
  known(caller);
  return caller;
}

/**
 * Returns the caller in the role that its token gives for this route. An operator is an administrator on all routes that admit
 * one. An observer is an administrator on admin routes that read, and a user on all others. For other users and guests, an
 * admin route is refused as if there were no token.
 */
function asOperator({ access, method }: Route, caller: Caller): Caller {
  if (caller.kind !== 'user' || !TAKES_ADMIN.has(access))
    return caller.kind === 'guest' && access === 'admin' ? ANONYMOUS : caller;
  if (caller.role === 'operator') return { kind: 'admin', operator: caller };
  if (access !== 'admin') return caller;
  if (caller.role !== 'observer') return ANONYMOUS;
  if (method !== 'GET') throw forbidden('an observer reads reports and changes nothing');
  return { kind: 'admin', operator: caller };
}

async function identify(
  route: Route,
  request: IncomingMessage,
  search: URLSearchParams,
  settings: AuthSettings,
): Promise<Caller> {
  const admin = request.headers['admin-token'];
  if (admin !== undefined && TAKES_ADMIN.has(route.access)) {
    settings.guesses.demand(request);
    if (settings.adminToken === undefined || !sameSecret(String(admin), settings.adminToken)) {
      settings.guesses.wrong(request, route);
      throw forbidden('the Admin-Token is wrong');
    }
    return { kind: 'admin' };
  }
  if (route.access === 'admin' && !settings.operators) return ANONYMOUS;
  const token = tokenOf(route, request, search, settings);
  if (token === undefined) return ANONYMOUS;
  if (!settings.verify) throw unauthorized('this server accepts no bearer tokens: no token issuer is configured');
  const caller = await settings.verify(token);
  await settings.remember(caller);
  return caller;
}

/** The token of the request, wherever it is. Throws when there are several different ones. */
function tokenOf(
  route: Route,
  { headers }: IncomingMessage,
  search: URLSearchParams,
  settings: AuthSettings,
): string | undefined {
  const tokens = new Set<string>();
  if (headers.authorization !== undefined) tokens.add(bearer(headers.authorization, true));
  for (const name of TOKEN_HEADERS) {
    const value = headers[name];
    if (value !== undefined) tokens.add(bearer(String(value), false));
  }
  if (settings.queryToken && route.queryToken) for (const token of search.getAll('access_token')) tokens.add(token);
  if (tokens.size > 1) throw badRequest('the request carries several tokens that differ; expected one');
  const [token] = tokens;
  return token;
}

function bearer(value: string, schemeNeeded: boolean): string {
  const [, scheme, token] = /^(Bearer +)?([\w~+/.=-]+)$/i.exec(value.trim()) ?? [];
  if (token === undefined || (schemeNeeded && scheme === undefined))
    throw unauthorized('the authorization header holds no bearer token');
  return token;
}

function needed(access: Access): string {
  switch (access) {
    case 'admin':
      return 'this needs the Admin-Token header, or the bearer token of an operator';
    case 'user':
      return 'this needs the bearer token of a registered user';
    case 'user-or-guest':
      return 'this needs a bearer token';
    case 'user-or-admin':
      return 'this needs the bearer token of a registered user, or the Admin-Token header';
    case 'anyone-known':
      return 'this needs a bearer token, or the Admin-Token header';
    case 'open':
      return 'this is open';
    default:
      return access satisfies never;
  }
}
