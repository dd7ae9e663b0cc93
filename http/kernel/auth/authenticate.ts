// Identifies the caller, and refuses callers who may not call the route (docs/contract/installer.md#authentication).

import type { IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { UserId } from '../../../engine/model/ids.ts';
import type { Accounts, Profile } from '../../../engine/ports/access-people.ts';
import { messageOf, transient } from '../../../engine/runtime/failure.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import { badRequest, forbidden, unauthorized } from '../pipeline/errors.ts';
import { type Access, isAllowed, type Route } from '../pipeline/route.ts';
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
  /** Told of every verified user, so that names can be shown to others; does not reject. */
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

// Stores the profiles of users who call, so that their names can be shown to others. Guests are left out: they own nothing,
// cannot be given access, and may have the same number as a user. A missing profile is never a failure
// (engine/ports/access-people.ts), so neither is one that could not be written.

/** Most callers whose written profile we remember. */
const MAX_KNOWN = 10_000;
const WRITE_MS = 2_000;
const AFTER_FAILURE_MS = 10_000;

/** The function resolves when the profile is written, or when that failed. It writes a profile again only after a change. */
export function profileRecorder(
  accounts: Pick<Accounts, 'remember'>,
  clock: Clock,
  log: Logger,
): (caller: Caller) => Promise<void> {
  const known = new Map<string, Profile>();
  let quietUntil = 0;
  return async (caller) => {
    if (caller.kind !== 'user') return;
    const { profile } = caller;
    // A token without these claims must not erase the stored profile.
    if (!profile.firstName && !profile.lastName && !profile.email && !profile.affiliation) return;
    // Fast in most cases, because the profile of a cached token is the same object.
    if (isDeepStrictEqual(known.get(caller.userId), profile) || clock.now() < quietUntil) return;
    using limit = deadline(clock, WRITE_MS, undefined, () => transient(`no response within ${WRITE_MS} ms`));
    try {
      await unlessAborted(accounts.remember(profile, limit.signal), limit.signal);
      const oldest = known.keys().next();
      if (known.size >= MAX_KNOWN && !oldest.done) known.delete(oldest.value);
      known.set(caller.userId, profile);
    } catch (error) {
      quietUntil = clock.now() + AFTER_FAILURE_MS;
      log.warn({ err: messageOf(error) }, 'the profile of a caller could not be stored');
    }
  };
}

// The caller of a request.

/** Operators may do everything that the Admin-Token allows. Observers may read reports but change nothing. */
export type OperatorRole = 'operator' | 'observer';

export interface Person {
  readonly kind: 'user' | 'guest';
  readonly userId: UserId;
  readonly profile: Profile;
  /** Only for users. Its effect depends on the route (authenticate.ts). */
  readonly role?: OperatorRole;
  /** When the token was issued, in ms since 1970; absent if it does not say so. */
  readonly issuedMs?: number;
  /** When the token expires, in ms since 1970. */
  readonly untilMs?: number;
}

export type Caller =
  | { readonly kind: 'anonymous' }
  | Person
  /** @property operator the person; absent for a caller with the Admin-Token */
  | { readonly kind: 'admin'; readonly operator?: Person };

export const ANONYMOUS: Caller = { kind: 'anonymous' };
