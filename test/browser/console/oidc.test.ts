// Sign-in at an OIDC issuer, in a real browser, with the console below a base path: the page that was wanted, reloads, renewal,
// sign-out, and answers that are not those to the question.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { dataDir } from '../../../bin/compose/data-dir.ts';
import { embeddedConfig } from '../../../bin/compose/embedded-config.ts';
import { freePortBase, ROOT, tempDir, up } from '../../support/longshore.ts';
import { browser } from '../browser.ts';
import { type Visit, visit } from './console.ts';
import { AUDIENCE, CLIENT_ID, oidcIssuer } from './oidc-issuer.ts';

const BASE_PATH = '/data';

const TOLD = join(ROOT, 'test', 'fixtures', 'scripts', 'told');
const PLUGIN = {
  ...{ name: 'genes', category: 'Genes', allowedFileExtensions: ['.txt'], usesDataProperties: false },
  scripts: {
    dataCleaning: join(TOLD, 'import.sh'),
    checkCompatibility: join(TOLD, 'check-compatibility.sh'),
    dataInstall: join(TOLD, 'install-data.sh'),
    metaUpdate: join(TOLD, 'install-meta.sh'),
    uninstall: join(TOLD, 'uninstall.sh'),
  },
};

const chromium = await browser(t);
const base = await freePortBase();
const url = `http://127.0.0.1:${base}${BASE_PATH}/console`;
const issuer = await oidcIssuer(t, url);
const dir = await tempDir(t);
const config = parse(embeddedConfig(dataDir(dir), base, [PLUGIN])) as {
  containerCore: { authentication: object; http?: object; console?: object };
};
Object.assign(config.containerCore.authentication, {
  oauth: { issuer: issuer.url, audience: AUDIENCE, jwksUrl: `${issuer.url}/keys` },
});
config.containerCore.http = { ...config.containerCore.http, basePath: { installer: BASE_PATH } };
config.containerCore.console = { oidc: { clientId: CLIENT_ID, scopes: 'openid profile offline_access' } };
await mkdir(dir, { recursive: true });
await writeFile(join(dir, 'config.yaml'), stringify(config), { mode: 0o600 });
const app = await up(t, dir, ['--port-base', String(base)]);

const signInButton = ({ page }: Visit) => page.getByRole('button', { name: 'Sign in at 127.0.0.1' });
const isSignedIn = ({ page }: Visit) => page.getByRole('banner').getByText('Ada Lovelace').waitFor();
async function signedIn(t: Test, hash = ''): Promise<Visit> {
  const visitor = await visit(t, chromium, `${url}${hash}`);
  await signInButton(visitor).click();
  await isSignedIn(visitor);
  return visitor;
}

t.test('up prints no link when tokens come from elsewhere', async (t) => {
  t.notMatch(app.printed(), /console: open/);
});

t.test('leads back to the page that was wanted, and a reload asks the person nothing', async (t) => {
  const wanted = '#/datasets?status=failed';
  const visitor = await signedIn(t, wanted);
  const { page, complaints } = visitor;
  t.equal(page.url(), url + wanted, 'without the code');
  await page.getByRole('heading', { name: 'No dataset matches' }).waitFor();
  t.equal(await page.getByLabel('Status').inputValue(), 'failed');
  t.equal(issuer.prompts.at(-1), null);
  await page.reload();
  await isSignedIn(visitor);
  t.equal(issuer.prompts.at(-1), 'none');
  t.equal(page.url(), url + wanted);
  await page.getByRole('heading', { name: 'No dataset matches' }).waitFor();
  t.strictSame(await page.evaluate('Object.values(localStorage)'), []);
  t.notMatch(JSON.stringify(await page.evaluate('Object.values(sessionStorage)')), /eyJ/, 'keeps no token');
  t.strictSame(complaints, []);
  t.strictSame(issuer.refused, []);
});

t.test('renews the token before it expires, and uses the new one', async (t) => {
  issuer.lifetimeSeconds = 6;
  const before = issuer.renewals;
  const { page } = await signedIn(t);
  const listed = () =>
    page.waitForRequest((request) => request.url().includes(`${BASE_PATH}/datasets?`), { timeout: 60_000 });
  while (issuer.renewals < before + 2) {
    const next = page.waitForResponse(`${issuer.url}/token`, { timeout: 60_000 });
    await (await next).finished();
  }
  issuer.lifetimeSeconds = 3_600;
  const request = listed();
  await page.getByRole('button', { name: 'Refresh' }).click();
  const used = (await (await request).allHeaders()).authorization?.replace('Bearer ', '') ?? '';
  t.ok(issuer.issued.indexOf(used) >= 2, 'a renewed token');
  await page.getByRole('heading', { name: 'You have no datasets yet' }).waitFor();
  t.strictSame(issuer.refused, [], 'each refresh token is used once');
});

t.test('signs out at the issuer as well', async (t) => {
  const visitor = await signedIn(t);
  await visitor.page.getByRole('button', { name: 'Sign out' }).click();
  await signInButton(visitor).waitFor();
  t.equal(issuer.hasSession, false);
  t.equal(issuer.revoked.length, 2, 'the refresh token and the access token are revoked');
  t.equal(issuer.revoked[1], issuer.issued.at(-1));
  t.equal(visitor.page.url(), url);
  await visitor.page.reload();
  await signInButton(visitor).waitFor();
  t.strictSame(issuer.refused, []);
});

for (const wrong of ['state', 'nonce'] as const)
  t.test(`refuses an answer with another ${wrong}`, async (t) => {
    const visitor = await visit(t, chromium, url);
    issuer.wrong = wrong;
    const tokens = issuer.issued.length;
    await signInButton(visitor).click();
    await visitor.page.getByText('The sign-in did not work.').waitFor();
    await signInButton(visitor).waitFor();
    issuer.wrong = undefined;
    if (wrong === 'state') t.equal(issuer.issued.length, tokens, 'and does not use its code');
    t.equal(visitor.page.url().replace(/#\/?$/, ''), url, 'nothing of it stays in the address');
    await signInButton(visitor).click();
    await isSignedIn(visitor);
  });

t.test('ignores an answer to which it has no question', async (t) => {
  const visitor = await visit(t, chromium, `${url}?code=stolen&state=guessed`);
  await signInButton(visitor).waitFor();
  t.notMatch(issuer.refused, ['unknown code']);
});
