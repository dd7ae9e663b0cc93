// Sign-outs everywhere, with tokens of the local issuer.

import t from 'tap';
import type { UserId } from '../../../../engine/model/ids.ts';
import { issueToken, newKeyPair } from '../../../../http/kernel/auth/local-issuer.ts';
import { SignOuts, type SignOutTimes } from '../../../../http/kernel/auth/sign-outs.ts';
import { tokenVerifier } from '../../../../http/kernel/auth/tokens.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const never = new AbortController().signal;
const keys = await newKeyPair();
const DAY_MS = 86_400_000;
/** Of real time, because the issuer uses the system's clock. */
const ISSUED_MS = Math.floor(Date.now() / 1_000) * 1_000;
const ADA = { kind: 'user', userId: '42' as UserId } as const;
const ada = (issuedMs: number) => ({ ...ADA, issuedMs });

function setup(times: SignOutTimes = {}, startMs = ISSUED_MS + 60_400) {
  const clock = new VirtualClock(startMs);
  const written: SignOutTimes[] = [];
  const signOuts = new SignOuts({
    ...{ times, lifetimeMs: DAY_MS, clock },
    write: async (next) => void written.push(next),
  });
  return { clock, written, signOuts };
}

t.test('ends what was issued until the end of its second, of this person alone', async (t) => {
  const { clock, written, signOuts } = setup();
  const ended = signOuts.signOut(ADA, never);
  await clock.advance(599);
  t.equal(signOuts.isOver(ada(ISSUED_MS)), true, 'at once');
  let isResolved = false;
  void ended.then(() => {
    isResolved = true;
  });
  await clock.advance(0);
  t.equal(isResolved, false, 'a token of this second would be refused');
  await clock.advance(1);
  await ended;
  const second = Math.floor((ISSUED_MS + 60_400) / 1_000);
  t.strictSame(written, [{ 'user 42': second }]);
  t.equal(signOuts.isOver(ada(second * 1_000)), true);
  t.equal(signOuts.isOver(ada((second + 1) * 1_000)), false);
  t.equal(signOuts.isOver(ADA), true, 'a token that does not tell');
  t.equal(signOuts.isOver({ kind: 'guest', userId: ADA.userId, issuedMs: 0 }), false);
  t.equal(signOuts.isOver({ kind: 'user', userId: '43' as UserId, issuedMs: 0 }), false);
});

t.test('lasts beyond a restart, until the tokens have expired by themselves', async (t) => {
  const second = ISSUED_MS / 1_000;
  const times = { 'user 42': second, 'user 7': second - 2 * 86_400 };
  const { clock, written, signOuts } = setup(times);
  t.equal(signOuts.isOver(ada(ISSUED_MS)), true);
  const ended = signOuts.signOut({ kind: 'guest', userId: '9' as UserId }, never);
  await clock.advance(1_000);
  await ended;
  t.strictSame(written, [{ 'user 42': second, 'guest 9': second + 60 }]);
});

t.test('refuses the tokens, and ends what lasts longer than a request', async (t) => {
  const clock = new VirtualClock(ISSUED_MS + 60_000);
  const verify = tokenVerifier({ issuer: 'local', clockToleranceMs: 0 }, keys, clock);
  const signOuts = new SignOuts({ times: {}, write: async () => {}, lifetimeMs: DAY_MS, clock });
  const refusing = signOuts.refusing(verify);
  const token = await issueToken({
    ...{ privateKeyPem: keys.privateKeyPem, issuer: 'local', subject: '42', claims: {}, lifetimeSeconds: 3_600 },
  });
  const before = await refusing(token);
  if (before.kind !== 'user') return t.fail('a user');
  t.equal(before.untilMs, (await verify(token).then((caller) => caller as typeof before)).untilMs);
  const ended = signOuts.signOut(before, never);
  await clock.advance(1_000);
  await ended;
  t.equal(before.untilMs, 0);
  await t.rejects(refusing(token), { code: 401, message: /has signed out everywhere/ });
});
