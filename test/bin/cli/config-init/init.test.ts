import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { EXIT, UsageError } from '../../../../bin/cli/command.ts';
import { check, init } from '../../../../bin/commands/config.ts';
import { loadConfiguration } from '../../../../config/load.ts';
import { formatFault } from '../../../../config/validate.ts';
import { MAILS_WAIT } from '../../../../config/warnings.ts';
import { FakeKeyboard } from '../../../fakes/fake-keyboard.ts';
import { FakeTerminal } from '../../../fakes/fake-terminal.ts';
import { run } from '../../../support/run-command.ts';

const ENV = { PATH: process.env.PATH };
const STORE = { S3_ACCESS_KEY: 'planted-access', S3_SECRET_KEY: 'planted-secret', RABBITMQ_PASSWORD: 'planted-rabbit' };

async function setup(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-init-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return join(dir, 'longshore.yaml');
}

async function configurationOf(file: string) {
  const loaded = await loadConfiguration(file, { env: {} });
  if (!loaded.ok) throw new Error(loaded.faults.map(formatFault).join('\n'));
  t.same(
    loaded.warnings.filter((warning) => warning !== MAILS_WAIT),
    [],
  );
  return loaded.configuration;
}

const S3 = ['--object-store', 's3.example.org', '--bucket', 'datasets', '--rabbitmq', 'rabbit.example.org'];
const OAUTH = ['--issuer', 'https://id.example', '--jwks', 'https://id.example/keys', '--audience', 'longshore'];

t.test('whatever sections are wanted, the file passes config check and holds no secret', async (t) => {
  const choices: Record<string, readonly string[]> = {
    'the defaults': [],
    'an S3 store': S3,
    Kafka: ['--kafka', 'a:9092,b'],
    'several targets': ['--target', 'SiteA', '--target', '9Site-B'],
    'a plugin elsewhere': ['--plugin', 'rnaseq=10.0.0.7:8090'],
    'a plugin of the site': ['--plugin', 'phenotypes', '--plugin', 'genelist'],
    'a token issuer': OAUTH,
    access: ['--access'],
    report: ['--report', 'query jobs'],
    handler: ['--handler', 'sh'],
    everything: [...S3, ...OAUTH, '--access', '--report', '/srv/jobs', '--handler', '/bin/sh', '--db', '[::1]:5433'],
  };
  for (const [name, args] of Object.entries(choices)) {
    const file = await setup(t);
    const { code, out } = await run(init, [file, ...args], { ...ENV, ...STORE });
    t.equal(code, EXIT.ok, name);
    t.match(out, `longshore serve --config ${file}`);
    const checked = await run(check, [file], ENV);
    const waits = args.includes('--access') ? `${file}: warning: ${MAILS_WAIT}\n` : '';
    t.match(checked, { code: EXIT.ok, err: waits }, name);
    const text = await readFile(file, 'utf8');
    const secrets = join(file, '..', 'secrets');
    t.equal((await stat(secrets)).mode & 0o777, 0o700);
    for (const secret of await readdir(secrets)) {
      t.equal((await stat(join(secrets, secret))).mode & 0o777, 0o600, secret);
      const value = await readFile(join(secrets, secret), 'utf8');
      t.notMatch(text + out, value.trim(), secret);
    }
    t.match(text, /^ *# /m, 'comments');
  }
});

t.test('options become settings', async (t) => {
  const file = await setup(t);
  const more = ['--target', 'SiteB', '--plugin', 'genelist', '--plugin', 'rnaseq=h:1', '--port-base', '9000'];
  await run(init, [file, ...S3, ...OAUTH, ...more, '--name', 'genes', '--db', 'db:6432'], {
    ...ENV,
    ...STORE,
  });
  const { installer, containerCore, pluginHost } = await configurationOf(file);
  t.match(installer.cacheDb, { server: { host: 'db', port: 6432 }, name: 'genes', username: 'genes' });
  t.match(installer.objectStore, { driver: 's3', bucketName: 'datasets', secretKey: 'planted-secret' });
  t.match(installer.queueBroker, { driver: 'rabbitmq', global: { connection: { password: 'planted-rabbit' } } });
  t.match(containerCore, { ports: { installer: 9000 }, authentication: { oauth: { issuer: 'https://id.example' } } });
  t.same(pluginHost?.inProcess, ['genelist']);
  t.match(installer.plugins, { genelist: { server: { port: 9004 } }, rnaseq: { server: { host: 'h', port: 1 } } });
  t.match(installer.installTargets, [{ targetId: 'SiteB', dataDb: { username: 'genes_data', schema: 'siteb_data' } }]);
});

t.test('nothing is overwritten without --force, and --force keeps the secrets', async (t) => {
  const file = await setup(t);
  await run(init, [file], ENV);
  const before = await configurationOf(file);
  await writeFile(file, 'mine');
  await t.rejects(run(init, [file], ENV), {
    kind: 'rejected',
    message: `${file} exists; --force replaces it and keeps its secrets`,
  });
  t.equal(await readFile(file, 'utf8'), 'mine');
  await run(init, [file, '--force', '--access'], { ...ENV, DB_PASSWORD: 'another-password' });
  const after = await configurationOf(file);
  t.ok(after.access);
  t.equal(after.installer.cacheDb.password, before.installer.cacheDb.password);
  t.equal(after.containerCore.authentication?.adminToken, before.containerCore.authentication?.adminToken);
});

t.test('passwords that roles have already are taken from variables', async (t) => {
  const file = await setup(t);
  await run(init, [file], { ...ENV, DB_PASSWORD: "it's a password", DATA_DB_PASSWORD: 'data-password' });
  const { installer } = await configurationOf(file);
  t.equal(installer.cacheDb.password, "it's a password");
  t.equal(installer.installTargets[0]?.dataDb.password, 'data-password');
  const sql = await readFile(join(file, '..', 'secrets', 'database.sql'), 'utf8');
  t.match(sql, "alter role longshore password 'it''s a password';");
});

t.test('a wrong option is a usage error that says what is allowed, and nothing is kept', async (t) => {
  const file = await setup(t);
  const refusals: readonly (readonly [readonly string[], RegExp])[] = [
    [['--db', 'a_b'], /^--db 'a_b': must be host or host:port$/],
    [['--name', 'A'], /^--name 'A': must be 3\.\.41 small letters/],
    [['--target', 'x'], /^--target 'x': must be 5\.\.32 letters/],
    [['--target', 'Site-A', '--target', 'site_a'], /^--target 'site_a': must differ from 'Site-A'/],
    [['--plugin', 'a=b=c'], /^--plugin 'a=b=c': must be a name/],
    [['--object-store', 'a'], /^an S3 store needs --bucket and --rabbitmq$/],
    [['--issuer', 'a'], /^a token issuer needs --jwks and --audience$/],
    [[...S3, '--objects', 'a'], /^--objects and --object-store: use one of them$/],
    [S3, /^an S3 store: set the variable S3_ACCESS_KEY; it is written to secrets\/s3-access-key$/],
    [['--port-base', '70000'], /^--port-base '70000': must be a port/],
  ];
  for (const [args, message] of refusals) await t.rejects(run(init, [file, ...args], ENV), message, String(args));
  await t.rejects(run(init, [file, '--db', 'a_b'], ENV), new UsageError("--db 'a_b': must be host or host:port"));
  await t.rejects(run(check, [file, '--db', 'a'], ENV), new UsageError("unknown option '--db'"));
  await t.rejects(run(init, [file, '--handler', 'no-such-command'], ENV), {
    message:
      /^nothing was written: .* handler\.commands\[0\]\.command: found "no-such-command", which is no executable/,
  });
  t.same(
    (await readdir(join(file, '..'), { recursive: true })).filter((name) => /secrets.|yaml|pem/.test(name)),
    [],
  );
});

t.test('on a terminal it asks, and takes what is typed', async (t) => {
  const file = await setup(t);
  const keyboard = new FakeKeyboard();
  const terminal = new FakeTerminal(120);
  const answers = ['db_1', 'db-1:6432', '', 's3', 's3.example', 'sets', 'planted-key', 'planted-secret', 'rabbit'];
  const rest = ['', 'planted-rabbit', '', 'SiteA, SiteB', 'genelist', '', 'yes', '/srv/jobs', '', '9000'];
  keyboard.type([...answers, ...rest].map((answer) => `${answer}\n`).join(''));
  const io = {
    ...{ env: ENV, out: () => undefined, err: () => undefined, errTerminal: terminal, keyboard: () => keyboard },
    signal: new AbortController().signal,
  };
  t.equal(await init.run([file], io), EXIT.ok);
  const { installer, access, report, handler, containerCore } = await configurationOf(file);
  t.match(installer, {
    cacheDb: { server: { host: 'db-1', port: 6432 } },
    objectStore: { bucketName: 'sets', accessToken: 'planted-key', secretKey: 'planted-secret' },
    logBroker: { driver: 'postgres' },
    installTargets: [{ targetId: 'SiteA' }, { targetId: 'SiteB' }],
  });
  t.ok(access);
  t.equal(report?.queryJobs.root, '/srv/jobs');
  t.equal(handler, undefined);
  t.equal(containerCore.ports.installer, 9000);
  const shown = terminal.written.join('');
  t.match(shown, 'must be host or host:port', 'a wrong answer is asked again');
  t.notMatch(shown, 'planted');
  t.equal(keyboard.listeners, 0);
});

t.test('a machine reads what was written, and what comes next', async (t) => {
  const file = await setup(t);
  const { out } = await run(init, [file, '--json'], ENV);
  const { next, ...written } = JSON.parse(out);
  t.same(written, { file, secrets: join(file, '..', 'secrets') });
  t.match(
    next.map(({ run }: { run: string }) => run.split(' ').slice(0, 2).join(' ')),
    ['psql -h', 'longshore migrate', 'longshore migrate-target', 'longshore doctor', 'longshore serve'],
  );
});
