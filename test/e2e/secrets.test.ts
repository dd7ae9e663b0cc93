// Secrets of the real program: whatever is asked of it, and whatever goes wrong, they stand in no log, no answer, no output
// of a command and no process title; and the files that hold them are closed to others.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { detailsOf, formOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, tempDir, type Up, up } from '../support/longshore.ts';

const USER = '12';

interface Config {
  readonly containerCore: { readonly authentication: { readonly adminToken: string } };
  readonly installer: {
    readonly cacheDb: { password: string };
    readonly installTargets: readonly { readonly dataDb: { readonly password: string } }[];
    readonly plugins: Readonly<Record<string, { readonly scripts: Record<string, { pathOverride: string }> }>>;
  };
}

const dir = await tempDir(t);
const config = join(dir, 'config.yaml');
const configured = async (): Promise<Config> => parse(await readFile(config, 'utf8')) as Config;
const titles = join(dir, 'titles');

/** Has a script of the plugin write down how it and the process that started it are called. */
async function tellTitles(): Promise<void> {
  const told = await configured();
  for (const script of Object.values(told.installer.plugins.genelist?.scripts ?? {})) {
    const wrapper = `${script.pathOverride}.told`;
    const titled = 'tr "\\0" " " <"/proc/$pid/cmdline"; echo';
    await writeFile(
      wrapper,
      `#!/bin/sh\nfor pid in $$ $PPID; do ${titled}; done >>'${titles}'\nexec '${script.pathOverride}' "$@"\n`,
    );
    await chmod(wrapper, 0o755);
    script.pathOverride = wrapper;
  }
  await writeFile(config, stringify(told));
}

/** By what they are. */
async function secretsOf(app: Up, tokens: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const { containerCore, installer } = await configured();
  const key = await readFile(join(dir, 'token-key.pem'), 'utf8');
  const secrets = {
    'admin token': containerCore.authentication.adminToken,
    'password of the databases': installer.cacheDb.password,
    'password of the plugins': installer.installTargets[0]?.dataDb.password ?? '',
    'password of PostgreSQL': await readFile(join(dir, 'postgres.password'), 'utf8'),
    'signing key': key.split('\n')[1] ?? '',
    ...Object.fromEntries(tokens.map((token, n) => [`bearer token ${n + 1}`, token.split('.')[2] ?? ''])),
  };
  t.equal(secrets['admin token'], app.endpoints.adminToken);
  for (const [what, secret] of Object.entries(secrets)) t.ok(secret.length >= 32, what);
  return secrets;
}

/** Answers of every front end to anybody, to a user, and to calls with tokens that are wrong or misplaced. */
async function answers(app: Up, user: string): Promise<string> {
  const { installer, handler, report, access, pluginHost, adminToken } = app.endpoints;
  const texts: string[] = [];
  const ask = async (url: string, init: Parameters<typeof fetch>[1] = {}): Promise<void> => {
    const response = await fetch(url, init);
    texts.push(`${url.split('?')[0]}\n${JSON.stringify([...response.headers])}\n${await response.text()}`);
  };
  const bearer = { authorization: `Bearer ${user}` };
  const admin = { 'admin-token': adminToken };
  for (const base of [installer, handler, report, access, pluginHost]) {
    for (const path of ['/health', '/ready', '/metrics', '/config', '/api', '/api/openapi.json', '/nowhere'])
      await ask(base + path, { headers: { ...bearer, ...admin } });
    // The last characters are those of another token.
    await ask(`${base}/datasets`, { headers: { authorization: `Bearer ${user.slice(0, -4)}AAAA` } });
    await ask(`${base}/jobs?access_token=${user}`, { headers: { 'admin-token': adminToken.slice(1) } });
  }
  for (const path of ['/service-meta', '/plugins', '/datasets', '/datasets/none', '/users/self/meta'])
    await ask(installer + path, { headers: bearer });
  for (const path of ['/admin/reports/datasets/list-all', '/admin/reports/jobs', '/admin/rpc/config/reload'])
    await ask(installer + path, { headers: admin });
  await ask(`${access}/permissions`, { headers: { auth_key: user } });
  await ask(`${access}/staff`, { headers: { auth_key: user, 'auth-key': `${user}x` } });
  return texts.join('\n');
}

/** Output of commands that read the configuration or talk to the server. */
async function outputs(user: string): Promise<string> {
  const data = ['--data', dir];
  const broken = join(dir, 'broken.yaml');
  const told = await configured();
  const wrong = `${told.installer.cacheDb.password}x`;
  // One that cannot log in, and one with a fault beside its secrets.
  told.installer.cacheDb.password = wrong;
  await writeFile(broken, stringify(told), { mode: 0o600 });
  const faulty = join(dir, 'faulty.yaml');
  await writeFile(faulty, stringify({ ...told, surprise: 1 }), { mode: 0o600 });
  const calls = [
    ['doctor', '--config', config],
    ['doctor', '--config', broken, '--json'],
    ['config', 'check', config],
    ['config', 'check', faulty],
    ['config', 'print', config],
    ['serve', '--config', faulty],
    ['datasets', 'list', ...data, '--user', USER],
    ['datasets', 'show', 'none', '--server', 'http://127.0.0.1:1', '--token', user],
    ['jobs', ...data, '--json'],
    ['top', '--once', ...data],
    ['reload', ...data, '--json'],
    ['nonsense', '--admin-token', 'x'],
  ];
  const texts: string[] = [];
  for (const args of calls) {
    const { stdout, stderr } = await longshore(args);
    t.ok(stdout.length + stderr.length > 0, args.join(' '));
    texts.push(stdout, stderr);
  }
  const said = texts.join('\n');
  t.match(said, /password authentication failed/, 'the database refused the wrong password');
  t.notMatch(said, wrong);
  return said;
}

t.test('no secret stands in a log, an answer, the output of a command or a process title', async (t) => {
  const base = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, base)).stop();
  await tellTitles();
  const app = await up(t, dir, base);
  t.equal((await longshore(['log-level', 'trace', '--data', dir])).code, 0);
  const tokens = [await app.token(USER), await app.token('13')];
  const [user = ''] = tokens;
  const secrets = await secretsOf(app, tokens);

  const { installer } = app.endpoints;
  const accepted = await fetch(`${installer}/datasets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${user}` },
    body: formOf(detailsOf('genelist'), [{ name: 'genes.txt', content: geneList(10) }]),
  });
  const { datasetId } = (await accepted.json()) as { readonly datasetId: string };
  const watched = await longshore(['watch', datasetId, '--data', dir, '--user', USER]);
  t.equal(watched.stdout, 'installed\n', watched.stderr);
  const download = await fetch(`${installer}/datasets/${datasetId}/files/upload?access_token=${user}`);
  t.equal(download.status, 200);
  await download.arrayBuffer();

  const said: Record<string, string> = { answers: await answers(app, user), commands: await outputs(user) };
  const living = processesBelow(dir).map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
  t.ok(living.some((title) => title.includes('postgres')));
  said.titles = [...living, await readFile(titles, 'utf8')].join('\n');
  t.match(said.titles, datasetId, 'scripts were seen');
  said.sites = readdirSync(join(dir, 'sites'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
  t.equal(await app.stop(), 0);
  said.printed = app.printed();
  for (const log of ['longshore.log', 'postgres.log']) said[log] = await readFile(join(dir, log), 'utf8');
  t.match(said['longshore.log'], /"level":"(debug|trace)"/, 'the log says all that it can');
  for (const [where, text] of Object.entries(said)) {
    t.ok(text.length > 0, where);
    for (const [what, secret] of Object.entries(secrets)) t.notOk(text.includes(secret), `${what} in ${where}`);
  }
});

/** Files below the folder that others can read: nothing on the way to them is closed. */
function readableByOthers(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [];
    const { mode } = statSync(path);
    if (entry.isDirectory()) return (mode & 0o001) === 0 ? [] : readableByOthers(path);
    return (mode & 0o004) === 0 ? [] : [path.slice(dir.length + 1)];
  });
}

t.test('files with secrets are their user’s alone, and others read nothing that people sent', async (t) => {
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const modeOf = (name: string): string => (statSync(join(dir, name)).mode & 0o777).toString(8);
  for (const name of ['config.yaml', 'endpoints.json', 'token-key.pem', 'postgres.password'])
    t.equal(modeOf(name), '600', name);
  for (const name of ['longshore.log', 'postgres.log']) t.equal(modeOf(name), '640', name);
  const open = /^(plugins|handler|demo)\/|^(postgres\.port|token-key\.pub\.pem|titles)$/;
  t.strictSame(
    readableByOthers(dir).filter((path) => !open.test(path)),
    [],
  );
  t.ok(readdirSync(join(dir, 'objects', 'objects', USER)).length > 0, 'there is something to read');
  await app.stop();
});
