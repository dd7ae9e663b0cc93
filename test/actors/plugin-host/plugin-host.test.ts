import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import type { PluginHostOptions } from '../../../actors/plugin-host/plugin-host.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import { OUTPUT_BYTES } from '../../../engine/model/script-evidence.ts';
import { createLogger, silentLogger } from '../../../engine/runtime/log.ts';
import {
  parseImport,
  parseInstallData,
  parseInstallMeta,
  parseUninstall,
} from '../../../http/plugin-host/request-documents.ts';
import { unzip } from '../../conformance/plugin-client.ts';
import {
  details,
  hostedPlugin,
  hostedTarget,
  metadataJson,
  putFile,
  readTree,
  setupHost,
  TYPE,
  zipIn,
} from '../../http/plugin-host/host-setup.ts';
import { linesOf } from '../../support/log-lines.ts';

const signal = new AbortController().signal;
const FILES = { 'a.txt': 'alpha', 'sub/b c.txt': 'beta', 'vdi-meta.json': 'sent by the user' };

async function setup(t: Test, change?: (options: PluginHostOptions) => PluginHostOptions, log = silentLogger()) {
  const { host, site, ...rest } = await setupHost(t, change);
  const importOf = async (dataset: string, files: Record<string, string> = FILES, changes: object = {}) => {
    await using workspace = await host.workspace(log);
    const payload = await zipIn(workspace, files);
    const meta = { ...metadataJson(dataset), ...changes };
    const request = parseImport(details(dataset, { 'job-id': 35, meta }));
    const dataFile = workspace.path('data.zip');
    const outcome = await host.import(request, workspace, { payload, dataFile }, signal);
    const nothing: Record<string, Buffer> = {};
    if (outcome.kind !== 'imported') return { outcome, contents: nothing, data: nothing };
    const data = await unzip(outcome.data.file);
    // The reply lives as long as the workspace.
    const contents = await unzip((await host.packReply(outcome, workspace, signal)).file);
    return { outcome, contents, data };
  };
  const install = async (dataset: string, more: { target?: string; dependency?: boolean; files?: object } = {}) => {
    await using workspace = await host.workspace();
    const payload = await zipIn(workspace, { ...FILES, ...more.files });
    const request = parseInstallData({
      details: details(dataset, { 'install-target': more.target ?? 'AlphaDB' }),
      meta: stringifyJson(metadataJson(dataset, more.dependency)),
      manifest: '{}',
    });
    return await host.installData(request, workspace, payload, signal);
  };
  const installMeta = async (dataset: string) => {
    await using workspace = await host.workspace();
    await writeFile(join(await workspace.properties(), 'props.tsv'), 'p');
    const meta = metadataJson(dataset);
    const request = parseInstallMeta(details(dataset, { 'install-target': 'AlphaDB', meta }));
    return await host.installMeta(request, workspace, signal);
  };
  const uninstall = async (dataset: string, type: object = TYPE, target = 'AlphaDB') => {
    await using workspace = await host.workspace();
    const request = parseUninstall(JSON.parse(details(dataset, { 'install-target': target, type })));
    return await host.uninstall(request, workspace, signal);
  };
  return { ...rest, host, site, importOf, install, installMeta, uninstall };
}

t.test('an import hands the files and the metadata to the script and packs what it wrote', async (t) => {
  const { importOf, workDir } = await setup(t);
  const { contents, data } = await importOf('ok-1');
  t.same(Object.keys(contents), ['vdi-manifest.json', 'warnings.json', 'data.zip']);
  t.same(JSON.parse(`${contents['vdi-manifest.json']}`), {
    rawUploads: [
      { name: 'a.txt', size: 5 },
      { name: 'sub/b c.txt', size: 4 },
      { name: 'vdi-meta.json', size: 16 },
    ],
    installReady: [
      { name: 'a.txt', size: 5 },
      { name: 'meta-copy.json', size: stringifyJson(metadataJson('ok-1'), 2).length + 3 },
      { name: 'sub/b c.txt', size: 4 },
    ],
    documentFiles: [],
    dataProperties: [],
  });
  t.same(JSON.parse(`${contents['warnings.json']}`), {
    isValid: true,
    basicValidation: [
      "left out: the upload's own vdi-meta.json, a reserved name, where the metadata go",
      'one line was odd',
    ],
    communityValidation: ['für alle λ'],
  });
  t.equal(`${data['a.txt']}`, 'alpha');
  t.match(`${data['meta-copy.json']}`, /"owner": 9223372036854775807/);
  t.same(await readdir(workDir), [], 'the workspace is gone');
});

t.test('an import script finds its variables and no others', async (t) => {
  const { importOf, workDir } = await setup(t);
  const { data } = await importOf('environment-1');
  const [path, id, importId, cwd] = `${data['env.txt']}`.split('\n');
  t.same([path, id], ['PATH=/usr/bin:/bin:/opt/tools', 'VDI_ID=environment-1']);
  t.match(importId, /^VDI_IMPORT_ID=[0-9a-z]{6}z$/);
  t.equal(cwd && dirname(cwd), workDir);
});

const NO_OUTPUT =
  'the import script wrote no output files: at least one has to be in the folder that is its second argument';

t.test('an import that ends badly says how, and what the author of the plugin has to change', async (t) => {
  const { importOf } = await setup(t);
  const script = hostedPlugin('/x').scripts.dataCleaning.path;
  const refused = (basic: string, ...community: readonly string[]) => ({
    ...{ kind: 'invalid', messages: { basic: [basic], community } },
  });
  t.same((await importOf('invalid-1')).outcome, refused('no such gene', 'the list is old'));
  t.same((await importOf('ok-1', { 'vdi-meta.json': 'x' })).outcome, refused('the upload holds no file'));
  for (const [how, message] of [
    ['empty', NO_OUTPUT],
    [
      'metadata',
      "the import script wrote 'vdi-meta.json': leave it out when the input folder is copied; install-data is given it anyway",
    ],
    [
      'piped',
      "the import script wrote 'fifo', which is neither file nor folder: leave only those in the output folder",
    ],
    ['reserved', "the import script wrote 'vdi-x.txt'; names beginning with 'vdi-' are reserved: choose another"],
    ['linked', "the import script wrote 'link', a symbolic link: write a copy of what it points to (cp -L)"],
    [
      'twins',
      "the import script wrote 'A.txt' and 'a.txt', which differ in case only: rename one, for many disks cannot hold both",
    ],
  ] as const)
    t.same((await importOf(`${how}-1`)).outcome, { kind: 'script-error', script, exitCode: 0, message }, how);
});

t.test('scripts that cannot run or take too long are the fault of the server', async (t) => {
  const { importOf, install, metrics } = await setup(t, (options) => {
    const [plugin] = options.plugins;
    if (!plugin) throw new Error('no plugin');
    const scripts = {
      ...plugin.scripts,
      dataCleaning: { ...plugin.scripts.dataCleaning, maxDurationMs: 50 },
      dataInstall: { path: '/nowhere/install', maxDurationMs: 1_000 },
    };
    return { ...options, plugins: [{ ...plugin, scripts }] };
  });
  t.match((await importOf('slow-1')).outcome, {
    kind: 'server-error',
    message: /import\.sh took longer than its 0\.05 s$/,
  });
  t.match(await install('ok-1'), { kind: 'server-error', message: /\/nowhere\/install .* does not exist$/ });
  const text = await metrics.text();
  t.match(text, /longshore_import_script_executions_total\{plugin="test",exit_status="timed_out"\} 1/);
  t.match(text, /longshore_install_data_script_executions_total\{plugin="test",exit_status="not_started"\} 1/);
  t.match(text, /longshore_script_import_duration_seconds_count\{plugin="test"\} 1/);
});

t.test('a script that fails is logged with its exit code, and leaves the end of what it printed', async (t) => {
  const file = join(t.testdir(), 'log');
  const { importOf, metrics } = await setup(t, undefined, createLogger({ level: 'warn', to: { file } }));
  const output = 'import of broken-1\noops';
  t.match((await importOf('broken-1')).outcome, { kind: 'script-error', exitCode: 3, output });
  t.match((await importOf('killed-1')).outcome, { kind: 'script-error', exitCode: 137, output: 'import of killed-1' });
  const loud = (await importOf('loud-1')).outcome;
  t.match(loud, {
    kind: 'script-error',
    exitCode: 4,
    output: /^\(\d+ bytes left out\) .*\nline 9999\nimport of loud-1$/s,
  });
  const printed = loud.kind === 'script-error' ? Buffer.byteLength(loud.output ?? '') : 0;
  t.ok(printed > OUTPUT_BYTES - 32 && printed <= OUTPUT_BYTES, `${printed}`);
  t.match(linesOf(file), [
    { level: 'warn', msg: 'script ended', status: 'failed', exitCode: 3 },
    { level: 'warn', msg: 'script ended', status: 'failed', signal: 'SIGKILL' },
    { level: 'warn', msg: 'script ended', status: 'failed', exitCode: 4 },
  ]);
  t.match(await metrics.text(), /longshore_import_script_executions_total\{plugin="test",exit_status="failed"\} 3/);
});

t.test('an installation appears whole, replaces an older one, and goes with uninstall', async (t) => {
  const { install, installMeta, uninstall, site } = await setup(t);
  const answer = { kind: 'valid', messages: { basic: [], community: ['loaded'] } };
  t.same(await install('ok-1', { files: { 'old.txt': 'x' } }), answer);
  t.same(await install('ok-1'), answer);
  const tree = await readTree(join(site, 'ok-1'));
  t.same(Object.keys(tree ?? {}).sort(), ['a.txt', 'env.txt', 'sub/b c.txt', 'vdi-meta.json']);
  t.match(tree?.['vdi-meta.json'], /"owner":9223372036854775807/);
  t.same(tree?.['env.txt']?.split('\n'), [
    `DATA_FILES=${join(site, '.staging-ok-1')}`,
    'DB_HOST=db.example',
    'DB_NAME=sites',
    'DB_PASS=planted-secret',
    'DB_PLATFORM=Postgres',
    'DB_PORT=5432',
    'DB_SCHEMA=loader_data',
    'DB_USER=loader',
    'PROJECT_ID=AlphaDB',
    'VDI_ID=ok-1',
    'args ok-1 install',
    '',
  ]);
  t.same(await installMeta('ok-1'), { kind: 'done' });
  t.equal((await readTree(join(site, 'ok-1')))?.['props.tsv'], 'p');
  t.same(await readdir(site), ['ok-1']);
  t.same(await uninstall('ok-1'), { kind: 'done' });
  t.same(await readdir(site), []);
  t.same(await uninstall('ok-1'), { kind: 'done' }, 'a second time is fine');
});

t.test('an installation that fails leaves the old one as it is', async (t) => {
  const { install, site } = await setup(t);
  await putFile(join(site, 'invalid-1', 'old.txt'), 'x');
  await putFile(join(site, 'broken-1', 'old.txt'), 'x');
  t.same(await install('invalid-1'), { kind: 'invalid', messages: { basic: ['rows do not fit'], community: [] } });
  t.match(await install('broken-1'), { kind: 'script-error', exitCode: 3 });
  t.same(await readTree(site), { 'invalid-1/old.txt': 'x', 'broken-1/old.txt': 'x' });
});

t.test('a script that installs no files leaves none', async (t) => {
  const { install, site } = await setup(t);
  t.match(await install('nofiles-1'), { kind: 'valid' });
  t.same(await readTree(site), {});
});

t.test('without staging the script gets the final folder, once', async (t) => {
  const { install, uninstall, site } = await setup(t, (options) => ({
    ...options,
    plugins: options.plugins.map((plugin) => ({ ...plugin, staging: false })),
  }));
  t.match(await install('ok-1'), { kind: 'valid' });
  t.match((await readTree(join(site, 'ok-1')))?.['env.txt'], new RegExp(`DATA_FILES=${join(site, 'ok-1')}\n`));
  t.match(await install('ok-1'), { kind: 'server-error', message: /is there already; uninstall dataset ok-1 first/ });
  t.same(await uninstall('ok-1'), { kind: 'done' });
  t.match(await install('ok-1'), { kind: 'valid' });
});

t.test('dependencies are checked before anything is installed, and without them nothing is asked', async (t) => {
  const { install, site } = await setup(t);
  t.match(await install('missing-1', { dependency: true }), { kind: 'missing-dependency' });
  t.same(await readTree(site), {});
  t.match(await install('missing-2'), { kind: 'valid' });
});

t.test('an uninstallation that fails leaves the files', async (t) => {
  const { uninstall, site } = await setup(t);
  await putFile(join(site, 'stuck-1', 'a.txt'), 'x');
  t.match(await uninstall('stuck-1'), { kind: 'script-error', exitCode: 7 });
  t.same(await readTree(site), { 'stuck-1/a.txt': 'x' });
});

t.test('datasetFileRoot replaces site build and target in the path', async (t) => {
  const { install, uninstall, options } = await setup(t, (options) => ({
    ...options,
    targets: [hostedTarget('AlphaDB', { datasetFileRoot: 'userDatasets/alpha' })],
  }));
  t.match(await install('ok-1'), { kind: 'valid' });
  const root = join(options.plugins[0]?.installRoot ?? '', 'userDatasets', 'alpha');
  t.same(await readdir(root), ['ok-1']);
  await uninstall('ok-1');
  t.same(await readdir(root), []);
});

t.test('a start finishes a swap that was cut off and clears the rest', async (t) => {
  const { host, site } = await setup(t);
  await putFile(join(site, '.ready-a', 'new.txt'), 'new');
  await putFile(join(site, 'a', 'old.txt'), 'old');
  await putFile(join(site, '.ready-b', 'new.txt'), 'new');
  await putFile(join(site, 'deleting-b-2024-01-01T00:00:00.000Z', 'old.txt'), 'old');
  await putFile(join(site, '.staging-c', 'half.txt'), 'half');
  await putFile(join(site, 'c', 'old.txt'), 'old');
  await putFile(join(site, 'deleting-d', 'of-a-dataset-of-that-name.txt'), 'kept');
  await host.prepare();
  t.same(await readTree(site), {
    'a/new.txt': 'new',
    'b/new.txt': 'new',
    'c/old.txt': 'old',
    'deleting-d/of-a-dataset-of-that-name.txt': 'kept',
  });
});

t.test('a start clears workspaces and refuses a missing install root', async (t) => {
  const { host, workDir, options } = await setup(t);
  await mkdir(join(workDir, 'call-old', 'workspace'), { recursive: true });
  await host.prepare();
  t.same(await readdir(workDir), []);
  await t.rejects(
    setupHost(t, () => ({ ...options, plugins: [hostedPlugin('/nowhere')] })),
    { kind: 'transient', message: /installRoot '\/nowhere' of plugin test is not a folder/ },
  );
});

t.test('a request is checked before any of it becomes a path', async (t) => {
  const { importOf, install, uninstall, site } = await setup(t, (options) => ({
    ...options,
    targets: [hostedTarget('AlphaDB'), hostedTarget('OtherDB', { dataTypes: [{ name: 'other', version: '1' }] })],
  }));
  const refused = (promise: Promise<unknown>, message: RegExp) => t.rejects(promise, { kind: 'rejected', message });
  for (const id of ['../../etc', '', 'a/b', 'x'.repeat(65), '.'])
    await refused(uninstall(id), /'vdi-id' is .*; it must be 1 to 64 characters/);
  await refused(uninstall('-rf'), /'vdi-id' is .-rf.; it must not begin with '-'/);
  await refused(
    uninstall('ok-1', { name: 'nope', version: '1' }),
    /type 'nope 1' is not served here; served: testtype 1\.0/,
  );
  await refused(uninstall('ok-1', {}), /'type' must be an object/);
  await refused(uninstall('ok-1', TYPE, '..'), /install-target '\.\.' must be one of AlphaDB, OtherDB/);
  await refused(uninstall('ok-1', TYPE, ' '), /'install-target' is ' '/);
  await refused(install('ok-1', { target: 'OtherDB' }), /type testtype 1\.0 is not for install-target 'OtherDB'/);
  t.same(await uninstall('ok-1', TYPE, 'OtherDB'), { kind: 'done' }, 'what no longer fits can still be taken away');
  await refused(importOf('ok-1', FILES, { type: { name: ' ', version: '1' } }), /'meta.type' must have/);
  await refused(importOf('ok-1', FILES, { installTargets: [] }), /'meta.installTargets'/);
  await refused(importOf('ok-1', FILES, { name: ' ' }), /'meta.name' must not be blank/);
  const dependency = { resourceIdentifier: 'a\tb', resourceDisplayName: 'x', resourceVersion: '1' };
  await refused(
    importOf('ok-1', FILES, { dependencies: [dependency] }),
    /'meta.dependencies\[0\].resourceIdentifier' is 'a\tb'/,
  );
  await refused(importOf('ok-1', FILES, { type: undefined }), /'type' must have a name/);
  t.equal(await readTree(site), undefined);
});

t.test('calls for one dataset and target take turns', async (t) => {
  const { install, uninstall, site } = await setup(t);
  const replies = await Promise.all([install('ok-1'), install('ok-1'), uninstall('ok-1'), install('ok-1')]);
  t.same(
    replies.map(({ kind }) => kind),
    ['valid', 'valid', 'done', 'valid'],
  );
  t.same(await readdir(site), ['ok-1']);
});

t.test('an abort ends the script and leaves nothing half installed', async (t) => {
  const { host, site } = await setup(t);
  const stop = new AbortController();
  await using workspace = await host.workspace();
  const payload = await zipIn(workspace, FILES);
  const request = parseInstallData({
    details: details('slow-1', { 'install-target': 'AlphaDB' }),
    meta: stringifyJson(metadataJson('slow-1')),
    manifest: '{}',
  });
  const running = host.installData(request, workspace, payload, stop.signal);
  stop.abort(new Error('hung up'));
  await t.rejects(running, /hung up/);
  t.same((await readTree(site)) ?? {}, {});
  t.same(host.load, { calls: 0, scripts: 0 });
});
