import { createHmac, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import t, { type Test } from 'tap';
import type { Caller } from '../../../../http/kernel/auth/authenticate.ts';
import { issueToken, newKeyPair } from '../../../../http/kernel/auth/local-issuer.ts';
import { TokenCache, tokenVerifier } from '../../../../http/kernel/auth/tokens.ts';
import { HttpError } from '../../../../http/kernel/pipeline/errors.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const pair = await newKeyPair();
const settings = { issuer: 'issuer', audience: 'longshore', clockToleranceMs: 5_000 };
const clock = new VirtualClock(Date.now());
const verify = tokenVerifier(settings, pair, clock);
const NOW = Math.floor(clock.now() / 1000);
const CLAIMS = { iss: 'issuer', aud: 'longshore', sub: '42', exp: NOW + 60 };

const encode = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

async function sign(claims: object | string, alg = 'ES256', pem = pair.privateKeyPem, header: object = {}) {
  const { importPKCS8, CompactSign } = await import('jose');
  const payload = Buffer.from(typeof claims === 'string' ? claims : JSON.stringify(claims));
  return new CompactSign(payload).setProtectedHeader({ alg, ...header }).sign(await importPKCS8(pem, alg));
}

const refusal = async (token: string, by = verify): Promise<string> => {
  const error = await by(token).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof HttpError ? `${error.code} ${error.message}` : String(error);
};

t.test('a good token names its user, its profile, whether it is a guest, and how long it is valid', async (t) => {
  const profile = { given_name: 'Ada', family_name: 'L', email: 'a@x.example', affiliation: 'X' };
  const token = await sign({ ...CLAIMS, ...profile, guest: false, email_verified: true });
  t.same(await verify(token), {
    kind: 'user',
    userId: '42',
    profile: { userId: '42', firstName: 'Ada', lastName: 'L', email: 'a@x.example', affiliation: 'X' },
    untilMs: CLAIMS.exp * 1_000 + settings.clockToleranceMs,
  });
  const guest = await verify(await sign({ ...CLAIMS, guest: true, given_name: 7 }));
  t.match(guest, { kind: 'guest', profile: { firstName: '' } });
});

t.test('what decides who somebody is has the type that it must have, or is absent', async (t) => {
  const guest = (found: unknown) =>
    `401 the bearer token's claim 'guest' is ${JSON.stringify(found)}; expected a boolean, or no such claim`;
  const verified = (found: unknown) =>
    `401 the bearer token's claim 'email_verified' is ${JSON.stringify(found)}; expected the boolean true, or no such claim`;
  for (const found of ['true', 'false', '', 0, 1, null, [], [true], {}]) {
    t.equal(await refusal(await sign({ ...CLAIMS, guest: found })), guest(found));
    t.equal(await refusal(await sign({ ...CLAIMS, email_verified: found })), verified(found));
  }
  t.equal(await refusal(await sign({ ...CLAIMS, email_verified: false })), verified(false));
  t.match(await refusal(await sign({ ...CLAIMS, guest: 'x'.repeat(5_000) })), /^.{0,160}$/, 'a long one is cut');
  t.match(await verify(await sign(CLAIMS)), { kind: 'user', profile: { email: '' } });
});

t.test('what the local issuer makes is accepted', async (t) => {
  const token = await issueToken({
    privateKeyPem: pair.privateKeyPem,
    issuer: 'issuer',
    audience: 'longshore',
    subject: '7',
    claims: { guest: true },
    lifetimeSeconds: 60,
  });
  t.match(await verify(token), { kind: 'guest', userId: '7' });
});

t.test('a numeric user id above 2^53 keeps every digit', async (t) => {
  const token = await sign(`{"iss":"issuer","aud":["other","longshore"],"sub":9007199254740993,"exp":${NOW + 60}}`);
  t.match(await verify(token), { userId: '9007199254740993' });
});

t.test('a token that is not good is 401 with the reason', async (t) => {
  const other = await newKeyPair();
  const { sub: _sub, ...noSub } = CLAIMS;
  const { exp: _exp, ...noExp } = CLAIMS;
  const hmac = `${encode({ alg: 'HS256' })}.${encode(CLAIMS)}`;
  const [head, , signature] = (await sign(CLAIMS)).split('.');
  const invalid = '401 the bearer token is not valid';
  const cases: Record<string, [token: string, refusal: string]> = {
    expired: [await sign({ ...CLAIMS, exp: NOW - 6 }), '401 the bearer token has expired'],
    'not yet valid': [await sign({ ...CLAIMS, nbf: NOW + 30 }), "401 the bearer token's claim 'nbf' is not accepted"],
    'other issuer': [await sign({ ...CLAIMS, iss: 'x' }), "401 the bearer token's claim 'iss' is not accepted"],
    'other audience': [await sign({ ...CLAIMS, aud: 'x' }), "401 the bearer token's claim 'aud' is not accepted"],
    'no subject': [await sign(noSub), "401 the bearer token's claim 'sub' is not accepted"],
    'no expiry': [await sign(noExp), "401 the bearer token's claim 'exp' is not accepted"],
    'subject is no id': [await sign({ ...CLAIMS, sub: 'me' }), "401 the bearer token's claim 'sub' is no user id"],
    'subject is a list': [await sign({ ...CLAIMS, sub: ['42'] }), "401 the bearer token's claim 'sub' is no user id"],
    'subject is negative': [await sign({ ...CLAIMS, sub: -1 }), "401 the bearer token's claim 'sub' is no user id"],
    'foreign key': [await sign(CLAIMS, 'ES256', other.privateKeyPem), invalid],
    'another claim than was signed': [`${head}.${encode({ ...CLAIMS, sub: '1' })}.${signature}`, invalid],
    'alg none': [`${encode({ alg: 'none' })}.${encode(CLAIMS)}.`, invalid],
    'HMAC with the public key': [
      `${hmac}.${createHmac('sha256', pair.publicKeyPem).update(hmac).digest('base64url')}`,
      invalid,
    ],
    'unknown critical header': [
      await sign(CLAIMS, 'ES256', pair.privateKeyPem, {}).then(
        (s) => `${encode({ alg: 'ES256', crit: ['x'], x: 1 })}.${s.split('.').slice(1).join('.')}`,
      ),
      invalid,
    ],
    'alg of another family': [`${encode({ alg: 'RS256' })}.${encode(CLAIMS)}.AAAA`, invalid],
    'payload is no JSON': [await sign('nonsense'), invalid],
    'two parts': ['a.b', invalid],
    'five parts': ['a.b.c.d.e', invalid],
  };
  for (const [what, [token, expected]] of Object.entries(cases)) t.equal(await refusal(token), expected, what);
  t.match(await verify(await sign({ ...CLAIMS, exp: NOW - 3 })), { kind: 'user' }, 'within the tolerance');
});

t.test('a token of the issuer that is made for another purpose is refused', async (t) => {
  const typed = (typ: string) => sign(CLAIMS, 'ES256', pair.privateKeyPem, { typ });
  for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt'])
    t.match(await verify(await typed(typ)), { userId: '42' }, typ);
  for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'ID', ''])
    t.equal(
      await refusal(await typed(typ)),
      `401 the bearer token's header 'typ' is "${typ}"; expected JWT or at+jwt, or no such header`,
    );
  t.match(await refusal(await typed('x'.repeat(5_000))), /^.{0,180}$/, 'a long one is cut');
});

t.test('every kind of public key does for its own algorithms only', async (t) => {
  const pem = (type: 'rsa' | 'ed25519' | 'ec', options: object) =>
    generateKeyPairSync(type as 'rsa', {
      ...(options as { modulusLength: number }),
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
  const kinds = [
    { keys: pem('rsa', { modulusLength: 2048 }), good: ['RS256', 'PS512'], bad: 'RS' },
    { keys: pem('ed25519', {}), good: ['EdDSA'] },
    { keys: pem('ec', { namedCurve: 'P-384' }), good: ['ES384'] },
    { keys: pem('ec', { namedCurve: 'P-521' }), good: ['ES512'] },
  ];
  for (const { keys, good } of kinds) {
    const own = tokenVerifier(settings, { publicKeyPem: keys.publicKey }, clock);
    for (const alg of good) t.match(await own(await sign(CLAIMS, alg, keys.privateKey)), { userId: '42' }, alg);
    t.equal(await refusal(await sign(CLAIMS), own), '401 the bearer token is not valid');
  }
  t.throws(() => tokenVerifier(settings, { publicKeyPem: 'nonsense' }), { kind: 'rejected', message: /no PEM/ });
  const curve = pem('ec', { namedCurve: 'secp256k1' });
  t.throws(() => tokenVerifier(settings, { publicKeyPem: curve.publicKey }), {
    kind: 'rejected',
    message: /secp256k1/,
  });
});

async function issuerWithKeys(t: Test) {
  const state = { keys: [] as JWK[], status: 200, fetches: 0, padding: 0, location: '' };
  const server = createServer((_request, response) => {
    state.fetches++;
    response.statusCode = state.status;
    if (state.location !== '') response.setHeader('location', state.location);
    response.end(JSON.stringify({ keys: state.keys, padding: 'x'.repeat(state.padding) }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  const signer = async (kid: string, publish = true): Promise<string> => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    if (publish) state.keys.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256' });
    return new SignJWT({ ...CLAIMS }).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  };
  return { state, url, signer };
}

t.test('keys of a key set are fetched once, and again for a key that is not known', async (t) => {
  const { state, url, signer } = await issuerWithKeys(t);
  const byUrl = tokenVerifier(settings, { jwksUrl: url }, clock);
  const first = await signer('one');
  t.match(await byUrl(first), { userId: '42' });
  t.match(await byUrl(first), { userId: '42' });
  t.equal(state.fetches, 1);
  // Fetched a moment ago: whoever sends unknown key ids cannot make us ask again and again.
  const unknown = await signer('unknown', false);
  for (let i = 0; i < 3; i++) t.equal(await refusal(unknown, byUrl), '401 the bearer token is not valid');
  t.equal(state.fetches, 1);
});

t.test('an issuer that does not answer is no fault of the token, and is left alone for a while', async (t) => {
  const { state, url, signer } = await issuerWithKeys(t);
  const own = new VirtualClock(clock.now());
  const byUrl = tokenVerifier(settings, { jwksUrl: url }, own);
  const token = await signer('one');
  state.status = 500;
  await t.rejects(byUrl(token), { kind: 'transient', message: /cannot be read from http.*status 500/ });
  await t.rejects(byUrl(token), { kind: 'transient', message: /a moment ago/ });
  t.equal(state.fetches, 1);
  await own.advance(5_000);
  state.status = 200;
  t.match(await byUrl(token), { userId: '42' });
});

t.test('a key set that is said to be elsewhere is not fetched from there', async (t) => {
  const [asked, elsewhere] = [await issuerWithKeys(t), await issuerWithKeys(t)];
  Object.assign(asked.state, { status: 302, location: elsewhere.url });
  const token = await elsewhere.signer('one');
  await t.rejects(tokenVerifier(settings, { jwksUrl: asked.url }, clock)(token), {
    kind: 'transient',
    message: /status 302/,
  });
  t.strictSame([asked.state.fetches, elsewhere.state.fetches], [1, 0]);
});

t.test('a key set without end is given up', async (t) => {
  const { state, url, signer } = await issuerWithKeys(t);
  state.padding = 2 * 1024 * 1024;
  const token = await signer('one');
  await t.rejects(tokenVerifier(settings, { jwksUrl: url }, clock)(token), {
    kind: 'transient',
    message: /larger than 1048576 bytes/,
  });
});

const caller = (id: string): Caller => ({ kind: 'admin', id }) as never;

t.test('a token is believed for a minute, and not after it expires', async (t) => {
  const memory = new TokenCache();
  memory.keep('long', caller('1'), 1_000, 10_000_000);
  memory.keep('short', caller('2'), 1_000, 5_000);
  t.strictSame(memory.find('long', 60_999), caller('1'));
  t.strictSame(memory.find('short', 4_999), caller('2'));
  t.equal(memory.find('short', 5_000), undefined);
  t.equal(memory.find('long', 61_000), undefined);
  t.equal(memory.find('other', 1_000), undefined);
  t.equal(memory.size, 0, 'what is over is forgotten');
});

t.test('of too many the oldest is forgotten', async (t) => {
  const memory = new TokenCache();
  for (let n = 0; n < 10_001; n++) memory.keep(`t${n}`, caller(String(n)), 0, 100_000);
  t.equal(memory.size, 10_000);
  t.equal(memory.find('t0', 1), undefined);
  t.strictSame(memory.find('t10000', 1), caller('10000'));
});

t.test('a token that was accepted is refused once it has expired; another signature is not believed', async (t) => {
  const keys = await newKeyPair();
  const clock = new VirtualClock(Date.now());
  const verify = tokenVerifier({ issuer: 'test', clockToleranceMs: 0 }, { publicKeyPem: keys.publicKeyPem }, clock);
  const claims = { issuer: 'test', subject: '7', lifetimeSeconds: 30, claims: {} };
  const token = await issueToken({ ...claims, privateKeyPem: keys.privateKeyPem });
  const first = await verify(token);
  t.match(first, { kind: 'user', userId: '7' });
  t.equal(await verify(token), first, 'the same, without another check');
  const forged = token.replace(/.{4}$/, 'AAAA');
  await t.rejects(verify(forged), { code: 401 });
  await t.rejects(verify(forged), { code: 401 });
  await clock.advance(31_000);
  await t.rejects(verify(token), { code: 401, message: /expired/ });
});
