// Tokens of the issuer that an installation trusts, with claims as some issuers write them.

import { readFile } from 'node:fs/promises';
import { importPKCS8, SignJWT } from 'jose';
import { LOCAL_ISSUER } from '../../engine/model/ids.ts';

/** @param keyFile private key of the issuer */
export async function signedClaims(keyFile: string, user: string, claims: Record<string, unknown>): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(LOCAL_ISSUER)
    .setSubject(user)
    .setExpirationTime('1 h')
    .sign(await importPKCS8(await readFile(keyFile, 'utf8'), 'ES256'));
}
