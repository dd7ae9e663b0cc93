// Scripts as sites wrote them for other plugin hosts, by the protocol's contract alone: arguments,
// standard input, environment, working directory, exit codes. Called as installers on the JVM do.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { serveHost } from './host-server.ts';
import { readTree } from './host-setup.ts';
import { javaCalls } from './java-calls.ts';

const SCRIPTS = join(import.meta.dirname, '..', '..', 'fixtures', 'scripts', 'contract');

async function setup(t: Test) {
  const path = (name: string) => ({ path: join(SCRIPTS, name), maxDurationMs: 30_000 });
  const scripts = {
    dataCleaning: path('import'),
    checkCompatibility: path('check-compatibility'),
    dataInstall: path('install-data'),
    metaUpdate: path('install-meta'),
    uninstall: path('uninstall'),
  };
  const host = await serveHost(t, {
    host: (options) => ({ ...options, plugins: options.plugins.map((plugin) => ({ ...plugin, scripts })) }),
  });
  const calls = await javaCalls(t, host);
  const told = async (answer: ReturnType<typeof calls.uninstall>) => {
    const { status, body } = await answer;
    return { code: Number(status.split(' ')[1]), body };
  };
  return {
    ...{ site: host.site, unpacked: calls.unpacked },
    importOf: (...args: Parameters<typeof calls.importOf>) => told(calls.importOf(...args)),
    install: (dataset: string, genes: string, dependencies: readonly object[] = []) =>
      told(calls.install(dataset, { 'formatted_gene_list.txt': genes }, dependencies)),
    installMeta: (...args: Parameters<typeof calls.installMeta>) => told(calls.installMeta(...args)),
    uninstall: (dataset: string) => told(calls.uninstall(dataset)),
  };
}

const genome = (version: string) => ({
  resourceIdentifier: 'PlasmoDB-51_Pfalciparum3D7_Genome',
  resourceDisplayName: 'A genome',
  resourceVersion: version,
});
const json = (body: Buffer): unknown => JSON.parse(body.toString());
const validation = (isValid: boolean, basic: readonly string[], community: readonly string[] = []) => ({
  isValid,
  basicValidation: basic,
  communityValidation: community,
});

t.test('the whole life of a dataset', async (t) => {
  const { importOf, install, installMeta, uninstall, unpacked, site } = await setup(t);
  const imported = await importOf('genes', { 'a.txt': 'PF3D7_1 PF3D7_2\n', 'b.txt': 'PF3D7_2;PF3D7_3' });
  t.equal(imported.code, 200);
  const reply = await unpacked(imported.body);
  t.strictSame(json(reply['warnings.json'] ?? Buffer.alloc(0)), validation(true, [], ['1 duplicates removed']));
  t.strictSame(json(reply['vdi-manifest.json'] ?? Buffer.alloc(0)), {
    rawUploads: [
      { name: 'a.txt', size: 16 },
      { name: 'b.txt', size: 15 },
    ],
    installReady: [{ name: 'formatted_gene_list.txt', size: 24 }],
    documentFiles: [],
    dataProperties: [],
  });
  const genes = `${(await unpacked(reply['data.zip']))['formatted_gene_list.txt']}`;
  t.equal(genes, 'PF3D7_1\nPF3D7_2\nPF3D7_3\n');

  const installed = await install('genes', genes, [genome('51')]);
  t.strictSame([installed.code, json(installed.body)], [200, validation(true, ['3 genes loaded into AlphaDB'])]);
  const meta = await installMeta('genes', 'a name');
  t.strictSame([meta.code, meta.body.length], [200, 0]);
  const { 'vdi-meta.json': document = '', ...files } = (await readTree(join(site, 'genes'))) ?? {};
  t.match(document, /"owner":9223372036854775807/);
  t.strictSame(files, {
    'formatted_gene_list.txt': genes,
    'loaded.txt': 'loader:planted-secret@db.example:5432/sites?schema=loader_data&platform=Postgres 3\n',
    'properties.txt': 'genes.tsv\ngröße 2.tsv\n',
  });
  t.equal((await stat(join(site, 'genes'))).mode & 0o777, 0o750);
  t.equal((await stat(join(site, 'genes', 'loaded.txt'))).mode & 0o111, 0);
  for (const time of ['first', 'second']) t.equal((await uninstall('genes')).code, 200, `${time} time`);
  t.strictSame(await readTree(site), {});
});

t.test('every exit code means what the contract says', async (t) => {
  const { importOf, install, installMeta, uninstall, site } = await setup(t);
  const refused = await importOf('genes', { 'a.txt': 'fine <not>\n' });
  t.strictSame(
    [refused.code, json(refused.body)],
    [418, validation(false, ['1 malformed gene ids'], ['see the list of organisms'])],
  );
  const many = Array.from({ length: 1_001 }, (_, i) => `gene_${i}\n`).join('');
  const large = await install('genes', many);
  t.strictSame([large.code, json(large.body)], [418, validation(false, ['too many genes'])]);
  const elsewhere = await install('genes', 'a\n', [genome('52')]);
  t.strictSame(
    [elsewhere.code, json(elsewhere.body)],
    [420, { warnings: ['PlasmoDB-51_Pfalciparum3D7_Genome 52 is not part of AlphaDB'] }],
  );
  const two = await install('genes', 'a\n', [genome('51'), genome('51')]);
  t.strictSame([two.code, json(two.body)], [420, { warnings: ['2 dependencies, 1 expected'] }]);
  t.strictSame(await readTree(site), {}, 'nothing of it is installed');
  const taken = await installMeta('genes', 'forbidden');
  t.strictSame([taken.code, json(taken.body)], [418, validation(false, ['that name is taken'])]);
  const locked = await uninstall('locked');
  t.match([locked.code, json(locked.body)], [555, { script: join(SCRIPTS, 'uninstall'), 'exit-code': 13 }]);
});
