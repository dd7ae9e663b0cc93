// A local token issuer, for installations without one: a key pair in files, and tokens issued from the command line.

import { exportPKCS8, exportSPKI, generateKeyPair, importPKCS8, SignJWT } from 'jose';

const ALGORITHM = 'ES256';

interface KeyPairPem {
  readonly privateKeyPem: string;
  readonly publicKeyPem: string;
}

export async function newKeyPair(): Promise<KeyPairPem> {
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  return { privateKeyPem: await exportPKCS8(privateKey), publicKeyPem: await exportSPKI(publicKey) };
}

interface TokenRequest {
  readonly privateKeyPem: string;
  readonly issuer: string;
  readonly audience?: string;
  /** User id. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, string | boolean>>;
  readonly lifetimeSeconds: number;
}

export async function issueToken(request: TokenRequest): Promise<string> {
  const key = await importPKCS8(request.privateKeyPem, ALGORITHM);
  const token = new SignJWT({ ...request.claims })
    .setProtectedHeader({ alg: ALGORITHM })
    .setIssuer(request.issuer)
    .setSubject(request.subject)
    .setIssuedAt()
    .setExpirationTime(`${request.lifetimeSeconds} s`);
  if (request.audience !== undefined) token.setAudience(request.audience);
  return token.sign(key);
}
