// A script of a plugin reads what the system tells about every process that it can see: their environments and command
// lines. It runs as the same user as the process that started it, so nothing forbids that.

import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { testDatabase } from '../support/database.ts';
import { freePortBase, longshore, running, tempDir, up } from '../support/longshore.ts';
import { servedSite } from '../support/served-site.ts';

interface Seen {
  readonly parent: number;
  readonly environment: string;
  readonly commandLine: string;
}

interface ImportScript {
  pathOverride: string;
}

interface Config {
  readonly containerCore: { readonly authentication: { adminToken: string } };
  readonly installer: {
    readonly cacheDb: { password: string };
    readonly installTargets: { readonly controlDb: { password: string }; readonly dataDb: { password: string } }[];
    readonly plugins: Readonly<Record<string, { readonly scripts: Record<string, ImportScript> }>>;
  };
}

const curious = (into: string): string => `#!/bin/sh
for dir in /proc/[0-9]*; do
  parent=$(sed -n 's/^PPid:[^0-9]*//p' "$dir/status")
  environment=$(tr '\\0\\n' '  ' <"$dir/environ")
  line=$(tr '\\0\\n' '  ' <"$dir/cmdline")
  printf '%s\\t%s\\t%s\\t%s\\n' "\${dir#/proc/}" "$parent" "$environment" "$line"
done 2>/dev/null >'${into}'
echo 'not today'
exit 99
`;

/** Makes it the import script of every plugin of the configuration. */
async function plant(config: Config, script: string, into: string): Promise<void> {
  await writeFile(script, curious(into));
  await chmod(script, 0o755);
  for (const plugin of Object.values(config.installer.plugins)) {
    const own = plugin.scripts.dataCleaning;
    if (own) own.pathOverride = encodeURI(script);
  }
}

/** What the script saw of these processes and of all that they started. */
async function seenOf(roots: readonly number[], file: string): Promise<readonly Seen[]> {
  const seen = new Map<number, Seen>();
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    const [pid, parent, environment = '', commandLine = ''] = line.split('\t');
    seen.set(Number(pid), { parent: Number(parent), environment, commandLine });
  }
  const ofOurs = (pid: number): boolean => roots.includes(pid) || (seen.has(pid) && ofOurs(seen.get(pid)?.parent ?? 0));
  return [...seen].filter(([pid]) => pid > 0 && ofOurs(pid)).map(([, one]) => one);
}

async function importOne(installer: string, token: string, target: string): Promise<void> {
  const files = [{ name: 'genes.txt', content: geneList(5) }];
  const id = await new Api(installer, token).upload(detailsOf('genelist', { installTargets: [target] }), files);
  const watched = await longshore(['watch', id, '--server', installer, '--token', token]);
  t.match(watched.stderr, /import invalid/, 'the script ran to its end');
}

function findsNothing(t: Test, seen: readonly Seen[], secrets: Readonly<Record<string, string>>): void {
  for (const { environment, commandLine } of seen)
    for (const [what, secret] of Object.entries(secrets)) {
      t.notOk(environment.includes(secret), `${what} in the environment of: ${commandLine}`);
      t.notOk(commandLine.includes(secret), `${what} in a command line`);
    }
}

t.test('a script sees no secret in the surroundings of the service and of the plugin host', async (t) => {
  const db = await testDatabase(t);
  const { dir, file, installer, adminToken } = await servedSite(t, db, db);
  const config = parse(await readFile(file, 'utf8')) as Config;
  const secrets = { 'admin token': adminToken, 'password of the cache database': db.password };
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: the configuration's own placeholders
  config.containerCore.authentication.adminToken = '${env:ADMIN_TOKEN}';
  for (const target of config.installer.installTargets) target.controlDb.password = '${env:CONTROL_DB_PASSWORD}';
  for (const target of config.installer.installTargets) target.dataDb.password = '${env:DATA_DB_PASSWORD}';
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: the configuration's own placeholders
  const into = join(dir, 'seen');
  await plant(config, join(dir, 'curious'), into);
  await writeFile(file, stringify(config), { mode: 0o600 });
  const { PATH, TMPDIR } = process.env;
  const ofData = { PATH, TMPDIR, DATA_DB_PASSWORD: db.password };
  const all = { ...ofData, ADMIN_TOKEN: adminToken, DB_PASSWORD: db.password, CONTROL_DB_PASSWORD: db.password };
  for (const args of [['migrate'], ['migrate-target', 'SiteA']])
    t.equal((await longshore([...args, '--config', file], { env: all })).code, 0);
  const service = await running(t, ['serve', '--config', file], { env: all });
  // The secret of the data role is all that it is given.
  const host = await running(t, ['plugin', '--config', file, '--id', 'genes'], { env: ofData });
  const token = (await longshore(['token', '--config', file, '--user', '8'], { env: all })).stdout.trim();
  await importOne(installer, token, 'SiteA');
  const seen = await seenOf([service.pid, host.pid], into);
  t.ok(seen.length > 2, `${seen.length} processes of ours`);
  findsNothing(t, seen, secrets);
});

t.test('a script sees no secret in the surroundings of up', async (t) => {
  const dir = await tempDir(t);
  const base = ['--port-base', String(await freePortBase())];
  const file = join(dir, 'config.yaml');
  await (await up(t, dir, base)).stop();
  const config = parse(await readFile(file, 'utf8')) as Config;
  const into = join(dir, 'seen');
  await plant(config, join(dir, 'curious'), into);
  await writeFile(file, stringify(config));
  const key = 'of-whoever-starts-it-for-something-else';
  process.env.KEY_OF_A_CLOUD = key;
  t.teardown(() => delete process.env.KEY_OF_A_CLOUD);
  const app = await up(t, dir, base);
  await importOne(app.endpoints.installer, await app.token('8'), 'AlphaDB');
  const seen = await seenOf([app.endpoints.pid], into);
  t.ok(seen.length > 2, `${seen.length} processes of ours`);
  findsNothing(t, seen, {
    'a variable of the user': key,
    'admin token': config.containerCore.authentication.adminToken,
    'password of the databases': config.installer.cacheDb.password,
  });
});
