import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { type CommandIo, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { FIXTURES, SECRETS } from '../../config/complete-document.ts';
import { run as runCommand } from '../../support/run-command.ts';

/** Both fixtures in a directory of their own, with the files that they name. */
async function setup(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-config-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await cp(FIXTURES, dir, { recursive: true });
  await writeFile(join(dir, 'token-key.pub.pem'), 'a key');
  await chmod(join(dir, 'embedded-form.yaml'), 0o600);
  return dir;
}

const run = (args: readonly string[], env: CommandIo['env'] = {}) =>
  runCommand('config', args, { PATH: process.env.PATH, ...env });

t.test('check says in one line that a file is right', async (t) => {
  const dir = await setup(t);
  const contract = join(dir, 'contract-form.yaml');
  const right = (out: string) => ({ code: EXIT.ok, out, err: '' });
  t.same(
    await run(['check', contract], SECRETS),
    right(`${contract}: ok, 2 enabled install targets, 2 plugins
AlphaDB, BetaDB share the data schema site_user of sites.example.org:5433/sites: a dataset's rows are stored there once
`),
  );
  const embedded = join(dir, 'embedded-form.yaml');
  t.same(
    await run(['check', embedded]),
    right(`${embedded}: ok, 1 enabled install target, 1 plugin
installed files: folders 0750, files 0640, group of the plugin host
`),
  );
});

t.test('check says which targets share their data', async (t) => {
  const dir = await setup(t);
  const file = join(dir, 'embedded-form.yaml');
  const text = await readFile(file, 'utf8');
  const [first] = parse(text).installer.installTargets as [{ targetId: string; dataDb: Record<string, unknown> }];
  const document = parse(text);
  document.installer.installTargets.push({ ...first, targetId: 'SecondDB', targetName: 'Second' });
  document.installer.installTargets.push({ ...first, targetId: 'AloneDB', targetName: 'Alone' });
  document.installer.installTargets[2].dataDb = { ...first.dataDb, schema: 'alone' };
  await writeFile(file, stringify(document), { mode: 0o600 });
  const { code, out } = await run(['check', file]);
  // The default of the schema.
  const { name, username: schema } = first.dataDb;
  const database = out.match(/ of (\S+): a dataset's rows are stored there once\n$/)?.[1] ?? '';
  t.equal(code, EXIT.ok);
  t.match(database, new RegExp(`:\\d+/${name}$`));
  t.equal(
    out.split('\n')[2],
    `${first.targetId}, SecondDB share the data schema ${schema} of ${database}: a dataset's rows are stored there once`,
  );
  t.same(JSON.parse((await run(['check', file, '--json'])).out).sharedData, [
    { targets: [first.targetId, 'SecondDB'], schema, database },
  ]);
});

t.test('check prints every fault, one per line, and ends with 3', async (t) => {
  const dir = await setup(t);
  const file = join(dir, 'contract-form.yaml');
  const { code, out, err } = await run(['check', file], {});
  t.equal(code, EXIT.configuration);
  t.equal(out, '');
  const lines = err.trimEnd().split('\n');
  // One per use: the password of the sites is shared by an anchor.
  t.equal(lines.length, 11);
  t.match(
    lines[0],
    `${file}:9:15: installer.installTargets[0].controlDb.password: found \${env:SITE_DB_PASSWORD}, and SITE_DB_PASSWORD is not set`,
  );
});

t.test('check looks for the files and programs that are named', async (t) => {
  const dir = await setup(t);
  await rm(join(dir, 'token-key.pub.pem'));
  const embedded = join(dir, 'embedded-form.yaml');
  t.match(await run(['check', embedded]), {
    code: EXIT.configuration,
    err: `${embedded}:5:54: containerCore.authentication.oauth.publicKeyFile: found "token-key.pub.pem" (${join(dir, 'token-key.pub.pem')}), which does not exist; allowed: a readable file\n`,
  });
  await mkdir(join(dir, 'token-key.pub.pem'));
  t.match((await run(['check', embedded])).err, /found "token-key\.pub\.pem" \(\S+\), which is a folder/, 'a folder');
  const contract = join(dir, 'contract-form.yaml');
  const text = await readFile(contract, 'utf8');
  const withCommand = async (command: string, env: CommandIo['env'] = {}) => {
    await writeFile(contract, text.replace('command: /bin/sh', `command: ${command}`));
    return (await run(['check', contract], { ...SECRETS, ...env })).err;
  };
  t.equal(await withCommand('sh'), '');
  t.match(
    await withCommand('cp -r a b'),
    '"cp -r a b", which is no executable here; allowed: one executable: a name on PATH or a path; arguments go into `arguments`, a shell is written as /bin/sh -c',
  );
  t.match(
    await withCommand('./contract-form.yaml'),
    'handler.commands[0].command: found "./contract-form.yaml", which is no executable here',
  );
  t.match(await withCommand('./'), 'handler.commands[0].command: found "./", which is no executable here');
  t.match(
    await withCommand("''"),
    /^\S+ handler\.commands\[0\]\.command: found [^\n]+\n$/,
    'one fault of an empty text',
  );
  t.match(await withCommand('tmp', { PATH: '/' }), 'found "tmp", which is no executable here', 'a folder on PATH');
});

t.test('print shows the file with its defaults and without its secrets', async (t) => {
  const dir = await setup(t);
  const { code, out, err } = await run(['print', join(dir, 'contract-form.yaml')], SECRETS);
  t.equal(code, EXIT.ok);
  t.equal(err, '');
  t.notMatch(out, 'planted');
  const document = parse(out);
  t.equal(document.installer.cacheDb.password, '[hidden]');
  t.equal(document.installer.daemons.reconciler.slimRunInterval, '5m');
  t.equal(document.installer.plugins.genelist.dataTypes[0].version, '1.0');
  t.notOk('definitions' in document);
});

t.test('warnings go to the other stream', async (t) => {
  const dir = await setup(t);
  const file = join(dir, 'embedded-form.yaml');
  await chmod(file, 0o644);
  const { code, err } = await run(['check', file]);
  t.equal(code, EXIT.ok);
  t.equal(err, `${file}: warning: ${file} holds secrets and can be read by every user of this machine\n`);
});

t.test('reference prints Markdown', async (t) => {
  const { code, out } = await run(['reference']);
  t.equal(code, 0);
  t.match(out, /^# Configuration reference\n/);
});

t.test('schema prints JSON', async (t) => {
  const { code, out } = await run(['schema']);
  t.equal(code, EXIT.ok);
  t.match(JSON.parse(out), { $schema: 'https://json-schema.org/draft/2020-12/schema', properties: { installer: {} } });
});

t.test('anything else is a usage error', async (t) => {
  for (const [args, message] of [
    [['check'], 'FILE is required: the configuration file'],
    [['print'], 'FILE is required: the configuration file'],
    [['check', 'a', 'b'], "'b' is not expected here"],
    [['schema', 'x'], "'x' is not expected here"],
    [['reference', 'x'], "'x' is not expected here"],
    [['check', '--all'], "unknown option '--all'"],
  ] as const)
    await t.rejects(run(args), new UsageError(message), args.join(' '));
});

t.test('check and print are read by machines, too', async (t) => {
  const dir = await setup(t);
  const embedded = join(dir, 'embedded-form.yaml');
  const good = await run(['check', embedded, '--json']);
  t.strictSame(
    [good.code, JSON.parse(good.out)],
    [EXIT.ok, { file: embedded, ok: true, faults: [], warnings: [], sharedData: [] }],
  );
  const contract = join(dir, 'contract-form.yaml');
  const bad = await run(['check', contract, '--json'], {});
  t.strictSame([bad.code, bad.err], [EXIT.configuration, '']);
  const { ok, faults } = JSON.parse(bad.out) as { ok: boolean; faults: readonly unknown[] };
  t.strictSame([ok, faults.length], [false, (await run(['check', contract], {})).err.trimEnd().split('\n').length]);
  const [asJson, asYaml] = [await run(['print', embedded, '--json']), await run(['print', embedded])];
  t.strictSame(JSON.parse(asJson.out), parse(asYaml.out));
});
