// Tokens of the local issuer. `longshore up` has a key pair in its data directory. Whoever can read the key can impersonate any
// user, so only the operator can read the file.

import { readFile } from 'node:fs/promises';
import { LOCAL_ISSUER } from '../../engine/model/ids.ts';
import { Failure } from '../../engine/runtime/failure.ts';
import { issueToken } from '../../http/kernel/auth/local-issuer.ts';

interface LocalSubject {
  readonly user: string;
  readonly guest: boolean;
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
  readonly email?: string | undefined;
  /** Further claims, which make an operator. */
  readonly roles?: Readonly<Record<string, string>>;
}

export const LIFETIME_SECONDS = 24 * 60 * 60;

interface TokenIssuer {
  /** PEM file of the private key. */
  readonly tokenKey: string;
  readonly issuer?: string;
  readonly audience?: string | undefined;
}

export async function localToken(from: TokenIssuer, subject: LocalSubject): Promise<string> {
  let privateKeyPem: string;
  try {
    privateKeyPem = await readFile(from.tokenKey, 'utf8');
  } catch (cause) {
    throw new Failure('rejected', `the token key ${from.tokenKey} cannot be read; use --token T instead`, { cause });
  }
  return issueToken({
    privateKeyPem,
    issuer: from.issuer ?? LOCAL_ISSUER,
    ...(from.audience === undefined ? {} : { audience: from.audience }),
    subject: subject.user,
    lifetimeSeconds: LIFETIME_SECONDS,
    claims: {
      ...subject.roles,
      guest: subject.guest,
      ...(subject.givenName === undefined ? {} : { given_name: subject.givenName }),
      ...(subject.familyName === undefined ? {} : { family_name: subject.familyName }),
      // The holder of the key is trusted with the email address.
      ...(subject.email === undefined ? {} : { email: subject.email, email_verified: true }),
    },
  });
}
