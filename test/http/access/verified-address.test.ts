import t from 'tap';
import { issueToken, newKeyPair } from '../../../http/kernel/auth/local-issuer.ts';
import { tokenVerifier } from '../../../http/kernel/auth/tokens.ts';

t.test('an address counts when the issuer calls it verified, and not otherwise', async (t) => {
  const keys = await newKeyPair();
  const verify = tokenVerifier({ issuer: 'test', clockToleranceMs: 0 }, { publicKeyPem: keys.publicKeyPem });
  const emailOf = async (claims: Record<string, string | boolean>): Promise<string | undefined> => {
    const about = { issuer: 'test', subject: '5', lifetimeSeconds: 60, claims: { email: 'a@lab.example', ...claims } };
    const caller = await verify(await issueToken({ privateKeyPem: keys.privateKeyPem, ...about }));
    return caller.kind === 'user' ? caller.profile.email : undefined;
  };
  t.equal(await emailOf({ email_verified: true }), 'a@lab.example');
  t.equal(await emailOf({}), '', 'it says nothing');
  await t.rejects(emailOf({ email_verified: false }), {
    code: 401,
    message: "the bearer token's claim 'email_verified' is false; expected the boolean true, or no such claim",
  });
});
