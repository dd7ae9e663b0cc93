// Bearer tokens: JWTs with asymmetric signatures, verified against one public key or the issuer's key set.

import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import { parseUserId } from '../../../engine/model/ids.ts';
import { decodeDocument } from '../../../engine/model/utf8.ts';
import { Failure, messageOf, rejected, transient } from '../../../engine/runtime/failure.ts';
import { type Clock, systemClock } from '../../../engine/runtime/time.ts';
import { type HttpError, unauthorized } from '../pipeline/errors.ts';
import type { Caller, OperatorRole, Person } from './authenticate.ts';

/** Never `none` and never HMAC, because a public key must not be accepted as a shared secret. */
const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA'];

const CURVE_ALGORITHMS: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

interface TokenSettings {
  readonly issuer: string;
  readonly audience?: string | undefined;
  readonly clockToleranceMs: number;
  /** Absent = no token identifies an operator. */
  readonly operators?: OperatorClaims | undefined;
}

/** The source of the issuer's keys. */
type TokenKeys = { readonly publicKeyPem: string } | { readonly jwksUrl: string };

/** Rejects with 401 for an invalid token, and with a `transient` failure when the issuer's keys cannot be read. */
export type TokenVerifier = (token: string) => Promise<Caller>;

interface KeySource {
  readonly algorithms: string[];
  readonly key: JWTVerifyGetKey;
}

/** Throws when the PEM is not a usable public key. */
export function tokenVerifier(settings: TokenSettings, keys: TokenKeys, clock: Clock = systemClock): TokenVerifier {
  const source: KeySource =
    'jwksUrl' in keys ? { algorithms: ALGORITHMS, key: keySet(keys.jwksUrl, clock) } : oneKey(keys.publicKeyPem);
  const options = {
    issuer: settings.issuer,
    algorithms: source.algorithms,
    clockTolerance: settings.clockToleranceMs / 1000,
    requiredClaims: ['sub', 'exp'],
    ...(settings.audience === undefined ? {} : { audience: settings.audience }),
  };
  const known = new TokenCache();
  return async (token) => {
    const nowMs = clock.now();
    const remembered = known.find(token, nowMs);
    if (remembered) return remembered;
    let verified: JWTVerifyResult;
    try {
      verified = await jwtVerify(token, source.key, { ...options, currentDate: new Date(nowMs) });
    } catch (error) {
      // Not a verdict on the token: the issuer's keys cannot be read, or there is a bug.
      if (error instanceof Failure || !(error instanceof errors.JOSEError)) throw error;
      throw unauthorized(refusal(error));
    }
    const { payload: claims, protectedHeader } = verified;
    demandAccessType(protectedHeader.typ);
    const untilMs = (claims.exp ?? 0) * 1_000 + settings.clockToleranceMs;
    const issued = claims.iat === undefined ? {} : { issuedMs: claims.iat * 1_000 };
    const caller = { ...callerOf(claims, token, settings.operators), ...issued, untilMs };
    known.keep(token, caller, nowMs, untilMs);
    return caller;
  };
}

function oneKey(pem: string): KeySource {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (cause) {
    throw rejected(`the public key of the token issuer is no PEM of a public key: ${messageOf(cause)}`, { cause });
  }
  return { algorithms: algorithmsOf(key), key: async () => key };
}

/** The algorithms that a key is for. A token that names another one is refused. */
function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string[] {
  switch (asymmetricKeyType) {
    case 'rsa':
      return ALGORITHMS.filter((name) => /^[RP]S/.test(name));
    case 'ed25519':
      return ['EdDSA'];
    case 'ec': {
      const algorithm = CURVE_ALGORITHMS[asymmetricKeyDetails?.namedCurve ?? ''];
      if (algorithm !== undefined) return [algorithm];
      break;
    }
    default:
  }
  const found = asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType;
  throw rejected(`the public key of the token issuer is of type '${found}': RSA, P-256, P-384, P-521 or Ed25519`);
}

/**
 * An issuer may sign other tokens with the same key: logout tokens, security events, proofs of possession. Their `typ` names
 * the kind, so we refuse them.
 */
function demandAccessType(typ: string | undefined): void {
  if (typ === undefined || /^(?:jwt|(?:application\/)?at\+jwt)$/i.test(typ)) return;
  const shown = JSON.stringify(typ).slice(0, MAX_SHOWN);
  throw unauthorized(`the bearer token's header 'typ' is ${shown}; expected JWT or at+jwt, or no such header`);
}

function refusal(error: Error): string {
  if (error instanceof errors.JWTExpired) return 'the bearer token has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `the bearer token's claim '${error.claim}' is not accepted`;
  return 'the bearer token is not valid';
}

function callerOf(claims: JWTPayload, token: string, operators: OperatorClaims | undefined): Person {
  const userId = parseUserId(subjectOf(claims, token));
  if (!userId) throw unauthorized("the bearer token's claim 'sub' is no user id");
  const text = (name: string): string => (typeof claims[name] === 'string' ? claims[name] : '');
  const { guest, email_verified: verified } = claims;
  // Both claims decide about permissions, so other types are refused and not converted: issuers also write "false" and 0.
  if (guest !== undefined && typeof guest !== 'boolean') throw badClaim('guest', guest, 'a boolean');
  if (verified !== undefined && verified !== true) throw badClaim('email_verified', verified, 'the boolean true');
  const profile = {
    userId,
    firstName: text('given_name'),
    lastName: text('family_name'),
    // The address redeems invitations, so it must be verified.
    email: verified === true ? text('email') : '',
    affiliation: text('affiliation'),
  };
  if (guest === true) return { kind: 'guest', userId, profile };
  const role = operatorRole(claims, operators);
  return { kind: 'user', userId, profile, ...(role ? { role } : {}) };
}

const MAX_SHOWN = 64;

function badClaim(name: string, found: unknown, allowed: string): HttpError {
  const shown = JSON.stringify(found).slice(0, MAX_SHOWN);
  return unauthorized(`the bearer token's claim '${name}' is ${shown}; expected ${allowed}, or no such claim`);
}

/** Some issuers write the id as a number. Above 2^53, only its digits in the token's text are exact. */
function subjectOf({ sub }: { readonly sub?: unknown }, token: string): string {
  if (typeof sub === 'string') return sub;
  if (typeof sub !== 'number') return '';
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url');
  const digits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' ? context?.source : value;
  return String((JSON.parse(decodeDocument(payload) ?? '', digits) as { sub?: unknown }).sub);
}

const CACHED_MS = 60_000;
const MAX_KNOWN = 10_000;

interface Known {
  readonly caller: Caller;
  readonly untilMs: number;
}

/**
 * Caches the callers of verified tokens, because checking a signature takes longer than the rest of most requests. An entry is
 * valid for a minute at most, and never after the token expires. So a key that its issuer withdraws may be accepted for another
 * minute. Refusals are not cached.
 */
export class TokenCache {
  /** Keyed by hash, because tokens may be long and should not stay in memory. Oldest first. */
  readonly #known = new Map<string, Known>();

  find(token: string, nowMs: number): Caller | undefined {
    const key = hashOf(token);
    const known = this.#known.get(key);
    if (!known || nowMs < known.untilMs) return known?.caller;
    this.#known.delete(key);
    return undefined;
  }

  /** @param expiresMs when the token expires, clock tolerance included */
  keep(token: string, caller: Caller, nowMs: number, expiresMs: number): void {
    const oldest = this.#known.keys().next();
    if (this.#known.size >= MAX_KNOWN && !oldest.done) this.#known.delete(oldest.value);
    this.#known.set(hashOf(token), { caller, untilMs: Math.min(expiresMs, nowMs + CACHED_MS) });
  }

  get size(): number {
    return this.#known.size;
  }
}

const hashOf = (token: string): string => hash('sha256', token, 'base64');

/** Operators are people with a certain claim in their tokens. The configuration lists the values of the claim. */
interface OperatorClaims {
  /** Name of the claim, or a dotted path into claims that are objects. */
  readonly claim: string;
  /** Values that identify an operator, and those that identify an observer. */
  readonly operator: readonly string[];
  readonly observer: readonly string[];
}

/** The role that the claims give. Undefined if the claim has no listed value, or is neither a string nor a list of strings. */
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

// The issuer's public keys, from its JWKS URL. They are cached for ten minutes. When a token names an unknown key, they are
// fetched again, at most every 30 s. While the issuer does not answer, they are requested at most every 5 s.

const TIMING = { timeoutDuration: 5_000, cooldownDuration: 30_000, cacheMaxAge: 600_000 };
const AFTER_FAILURE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;

/** Rejects with a `transient` failure when the keys cannot be read, and with jose's own errors when no key fits the token. */
function keySet(url: string, clock: Clock): JWTVerifyGetKey {
  let quietUntil = 0;
  const patientFetch: FetchImplementation = async (address, options) => {
    // Otherwise every request would wait for an issuer that does not answer.
    if (clock.now() < quietUntil) throw new Error('it did not answer a moment ago');
    try {
      return await boundedFetch(address, options);
    } catch (error) {
      quietUntil = clock.now() + AFTER_FAILURE_MS;
      throw error;
    }
  };
  const remote = createRemoteJWKSet(new URL(url), { ...TIMING, [customFetch]: patientFetch });
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      if (isVerdict(error)) throw error;
      throw transient(`the token issuer's keys cannot be read from ${url}: ${messageOf(error)}`, { cause: error });
    }
  };
}

/** True when the keys could be read, but none fits the token. */
const isVerdict = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

/** Like fetch, but fails unless the status is 200 and the body is small enough. */
const boundedFetch: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`the key set is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: 200 });
};
