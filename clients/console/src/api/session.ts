// Who is signed in. The token is in the memory of this page only: a reload signs in again at the issuer, or asks for it.
//
//   signed out ── code, sample user, token, issuer ─▶ signed in ── expiry, 401, sign out ─▶ signed out
//                                                      └── renewed by a refresh token, a minute before it expires

import { accessClient, installerClient, LongshoreError, reportClient } from '../../../typescript/src/index.ts';
import { reachingFetch } from './reachability.ts';
import { type ConsoleSelf, openClient, SERVER, settings } from './settings.ts';
import { Store } from './store.ts';

export interface Session {
  readonly token: string;
  readonly self: ConsoleSelf;
  /** Gets the next token; absent if there is none without the person. */
  readonly renew?: () => Promise<Granted>;
  /** Signs out at the issuer as well, by leaving this page. */
  readonly leave?: () => Promise<void>;
}

/** What an issuer gives. */
export interface Granted extends Pick<Session, 'renew' | 'leave'> {
  readonly token: string;
}

/** The sign-in at the issuer failed. The message is what the issuer said; empty if it said nothing. */
export class SignInError extends Error {
  /** It did not answer at all. */
  readonly isAway: boolean;

  constructor(message: string, isAway: boolean, cause: unknown) {
    super(message, { cause });
    this.isAway = isAway;
  }
}

export const session = new Store<Session | undefined>(undefined);
/** Why it ended, if the person did not end it. */
export const ending = new Store<'soon' | 'ended' | undefined>(undefined);

const RENEW_BEFORE_MS = 60_000;
/** Browsers' timers cannot wait longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const SHORTEST_WAIT_MS = 1_000;
let timer: ReturnType<typeof setTimeout> | undefined;
let renewing: Promise<void> | undefined;

/** Throws if the server does not accept the token. */
export async function signIn({ token, ...more }: Granted): Promise<void> {
  const { data } = await installerClient({ url: SERVER, token, fetch: reachingFetch }).GET('/console/self');
  ending.set(undefined);
  session.set({ token, self: data as ConsoleSelf, ...more });
  renewLater(token);
}

export async function signInByCode(code: string): Promise<void> {
  const { data } = await openClient.POST('/console/sign-in', { body: { code } });
  await signIn(data as Granted);
}

export async function signInAsSample(userId: number): Promise<void> {
  const { data } = await openClient.POST('/console/sample-sign-in', { body: { user: String(userId) } });
  await signIn(data as Granted);
}

export async function signOut(): Promise<void> {
  const before = session.value;
  clearTimeout(timer);
  session.set(undefined);
  ending.set(undefined);
  await before?.leave?.();
}

/** On all devices. It works only while the server can be reached. */
export async function signOutEverywhere(): Promise<void> {
  await installer.POST('/console/sign-out-everywhere');
  await signOut();
}

/** Plans the renewal a minute before the token expires. If less than two minutes are left, after half of them. */
function renewLater(token: string): void {
  clearTimeout(timer);
  const untilMs = expiryOf(token);
  if (untilMs === undefined) return;
  const leftMs = untilMs - Date.now();
  const waitMs = Math.max(leftMs - RENEW_BEFORE_MS, leftMs / 2);
  // So a failed attempt is repeated a few times, and then only when somebody needs the token.
  if (waitMs < SHORTEST_WAIT_MS) return;
  timer = setTimeout(() => void renew(token), Math.min(waitMs, LONGEST_TIMER_MS));
}

/** All who need the next token at once share one renewal: issuers may take a second use of a refresh token for theft. */
function renew(token: string): Promise<void> {
  renewing ??= renewed(token).finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renewed(token: string): Promise<void> {
  const before = session.value;
  if (before?.token !== token) return;
  const granted = await before.renew?.().catch(() => undefined);
  if (session.value !== before) return;
  if (granted) {
    session.set({ self: before.self, ...granted });
    ending.set(undefined);
    return renewLater(granted.token);
  }
  ending.set('soon');
  if (before.renew) renewLater(token);
}

/** Renewed if it has expired: timers are late after the computer has slept. */
export async function validToken(): Promise<string> {
  const { token } = session.value ?? {};
  if (token === undefined) return '';
  if ((expiryOf(token) ?? Number.POSITIVE_INFINITY) <= Date.now()) await renew(token);
  return session.value?.token ?? '';
}

/** In ms since 1970; undefined for a token that is not a JWT. */
function expiryOf(token: string): number | undefined {
  try {
    const claims = JSON.parse(atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))) as {
      readonly exp?: number;
    };
    return claims.exp === undefined ? undefined : claims.exp * 1_000;
  } catch {
    return undefined;
  }
}

/** Ends the session when the server no longer accepts its token. */
const asking: typeof fetch = async (request, options) => {
  const answer = await reachingFetch(request, options);
  if (answer.status === 401 && session.value) {
    clearTimeout(timer);
    session.set(undefined);
    ending.set('ended');
  }
  return answer;
};

const signedIn = { token: validToken, fetch: asking };

/** The API, as the person who is signed in. */
export const installer = installerClient({ url: SERVER, ...signedIn });

/** Undefined if the installation has no such service. */
export function access(): ReturnType<typeof accessClient> | undefined {
  const url = settings.value?.services.access;
  return url === undefined ? undefined : accessClient({ url, ...signedIn });
}

/** Undefined if the installation has no such service. */
export function report(): ReturnType<typeof reportClient> | undefined {
  const url = settings.value?.services.report;
  return url === undefined ? undefined : reportClient({ url, ...signedIn });
}

export const isOperator = (role: ConsoleSelf['role'] | undefined): boolean =>
  role === 'operator' || role === 'observer';

/** The faults that the server found, by field. */
export const faultsOf = (error: unknown): Readonly<Record<string, readonly string[]>> =>
  error instanceof LongshoreError ? (error.problem?.errors?.byKey ?? {}) : {};
