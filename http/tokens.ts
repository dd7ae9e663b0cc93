// Bearer tokens: JWTs with asymmetric signatures, verified against one public key or the issuer's key set.

import { createRemoteJWKSet, errors, importSPKI, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { messageOf, transient } from '../engine/failure.ts';
import { parseUserId } from '../engine/model/ids.ts';
import type { Caller } from './caller.ts';
import { unauthorized } from './errors.ts';

/** Never `none`, never HMAC: a public key must not do as a shared secret. */
export const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA'];

export interface TokenSettings {
  readonly issuer: string;
  readonly audience?: string | undefined;
  readonly clockToleranceMs: number;
}

/** Where the issuer's keys are. */
export type TokenKeys = { readonly publicKeyPem: string } | { readonly jwksUrl: string };

export type TokenVerifier = (token: string) => Promise<Caller>;

const KEY_SET = { timeoutDuration: 5_000, cooldownDuration: 30_000, cacheMaxAge: 600_000 };

export function tokenVerifier(settings: TokenSettings, keys: TokenKeys): TokenVerifier {
  const key = keyGetter(keys);
  const options = {
    issuer: settings.issuer,
    algorithms: ALGORITHMS,
    clockTolerance: settings.clockToleranceMs / 1000,
    requiredClaims: ['sub', 'exp'],
    ...(settings.audience === undefined ? {} : { audience: settings.audience }),
  };
  return async (token) => {
    let claims: JWTPayload;
    try {
      claims = (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      // The key set is away: that says nothing about the token.
      if (error instanceof errors.JWKSTimeout || !(error instanceof errors.JOSEError))
        throw transient(`the token issuer's keys cannot be read: ${messageOf(error)}`, { cause: error });
      throw unauthorized(refusal(error));
    }
    return callerOf(claims);
  };
}

function keyGetter(keys: TokenKeys): JWTVerifyGetKey {
  if ('jwksUrl' in keys) return createRemoteJWKSet(new URL(keys.jwksUrl), KEY_SET);
  const imported = new Map<string, ReturnType<typeof importSPKI>>();
  return async (header) => {
    const algorithm = header.alg ?? '';
    const key = imported.get(algorithm) ?? importSPKI(keys.publicKeyPem, algorithm);
    // A key does for one family of algorithms; asked for another, the token is at fault.
    key.catch(() => undefined);
    if (ALGORITHMS.includes(algorithm)) imported.set(algorithm, key);
    return key.catch((cause) => {
      throw new errors.JWSInvalid('the key is not for this algorithm', { cause });
    });
  };
}

function refusal(error: Error): string {
  if (error instanceof errors.JWTExpired) return 'the bearer token has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `the bearer token's claim '${error.claim}' is not accepted`;
  return 'the bearer token is not valid';
}

function callerOf(claims: JWTPayload): Caller {
  const userId = parseUserId(String(claims.sub));
  if (!userId) throw unauthorized("the bearer token's claim 'sub' is no user id");
  const text = (name: string): string => (typeof claims[name] === 'string' ? claims[name] : '');
  const profile = {
    userId,
    firstName: text('given_name'),
    lastName: text('family_name'),
    email: text('email'),
    affiliation: text('affiliation'),
  };
  return { kind: claims.guest === true ? 'guest' : 'user', userId, profile };
}
