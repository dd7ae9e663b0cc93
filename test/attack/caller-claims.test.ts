// Somebody whose issuer vouches for less than it seems tries to take over what was given to another person.

import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { signedClaims } from './signed-claims.ts';

const dir = join(await tempDir(t), 'data');
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const base = app.endpoints.access;
const MANAGER = '901';
const DATASET = 'SAMPLE_controlled';

const token = (user: string, claims: Record<string, unknown>) => signedClaims(dataDir(dir).tokenKey, user, claims);

async function call(headers: Record<string, string>, method: string, path: string, body?: object) {
  const response = await fetch(path.startsWith('http') ? path : base + path, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}
const as = async (user: string, claims: Record<string, unknown>) => ({
  authorization: `Bearer ${await token(user, claims)}`,
});

const admin = { 'admin-token': app.endpoints.adminToken };
t.match(await call(admin, 'POST', '/staff', { userId: Number(MANAGER), isOwner: true }), { status: 200 });

/** A grant for whoever has the address, who has no account. */
async function granted(email: string): Promise<void> {
  const invited = await call(await as(MANAGER, {}), 'POST', '/dataset-end-users', {
    ...{ email, datasetId: DATASET, purpose: 'P', researchQuestion: 'R', analysisPlan: 'A' },
    ...{ disseminationPlan: 'D', priorAuth: 'X', approvalStatus: 'approved' },
  });
  t.strictSame(invited, { status: 200, body: { created: false } });
}

/** What the caller has of the dataset after a call: the state of a request, `none`, or a refusal. */
async function taken(user: string, claims: Record<string, unknown>): Promise<string> {
  const { status, body } = await call(await as(user, claims), 'GET', '/permissions');
  if (status !== 200) return `${status} ${(body as { message: string }).message}`;
  const { perDataset } = body as { perDataset: Record<string, { accessRequestStatus: string }> };
  return perDataset[DATASET]?.accessRequestStatus ?? 'none';
}

t.test('nobody takes a grant with an address that the issuer does not vouch for', async (t) => {
  const email = 'victim@lab.example';
  await granted(email);
  const refused = (found: string) =>
    `401 the bearer token's claim 'email_verified' is ${found}; expected the boolean true, or no such claim`;
  t.equal(await taken('911', { email, email_verified: 'false' }), refused('"false"'));
  t.equal(await taken('912', { email, email_verified: 'true' }), refused('"true"'));
  t.equal(await taken('913', { email, email_verified: 0 }), refused('0'));
  t.equal(await taken('914', { email, email_verified: 1 }), refused('1'));
  t.equal(await taken('915', { email, email_verified: null }), refused('null'));
  t.equal(await taken('916', { email, email_verified: false }), refused('false'));
  t.equal(
    await taken('917', { email }),
    'none',
    'a token that says nothing of its address lets its user in without it',
  );
  t.equal(await taken('918', { email, email_verified: true }), 'approved', 'the person');
});

t.test('no letter is taken for another one in an address', async (t) => {
  await granted('karl@lab.example');
  const verified = (email: string) => ({ email, email_verified: true });
  t.equal(await taken('921', verified('\u212Aarl@lab.example')), 'none', 'U+212A, which lower-cases to k');
  t.equal(await taken('922', verified('\uFF4Barl@lab.example')), 'none', 'U+FF4B, the wide k');
  await granted('\u00FCwe@lab.example');
  t.equal(await taken('923', verified('\u00DCwe@lab.example')), 'none', 'only ASCII has two cases');
  t.equal(await taken('924', verified('u\u0308we@lab.example')), 'approved', 'the same letter in two code points');
  t.equal(await taken('925', verified('KARL@LAB.example')), 'approved', 'the person, whose issuer shouts');
});

t.test('a guest is a guest in every service, and what is neither true nor false is nobody', async (t) => {
  const { installer, report } = app.endpoints;
  for (const guest of ['true', 'false', 1, 0, null, {}]) {
    const headers = await as('931', { guest });
    for (const url of [`${installer}/datasets`, `${base}/permissions`, `${base}/history`, `${report}/jobs`])
      t.match(await call(headers, 'GET', url), {
        status: 401,
        body: {
          status: 'unauthorized',
          message: `the bearer token's claim 'guest' is ${JSON.stringify(guest)}; expected a boolean, or no such claim`,
        },
      });
  }
  t.equal((await call(await as('932', { guest: true }), 'GET', `${installer}/datasets`)).status, 403);
  t.equal((await call(await as('933', { guest: false }), 'GET', `${installer}/datasets`)).status, 200);
});
