import t from 'tap';
import type { Caller } from '../../../../http/kernel/auth/caller.ts';
import { issueToken, newKeyPair } from '../../../../http/kernel/auth/local-issuer.ts';
import { TokenMemory } from '../../../../http/kernel/auth/token-memory.ts';
import { tokenVerifier } from '../../../../http/kernel/auth/tokens.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const caller = (id: string): Caller => ({ kind: 'admin', id }) as never;

t.test('a token is believed for a minute, and not after it expires', async (t) => {
  const memory = new TokenMemory();
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
  const memory = new TokenMemory();
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
