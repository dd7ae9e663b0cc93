import t from 'tap';
import { DetailsCheck } from '../../../http/installer/metadata/details-check.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { dataTypes, installTargets, SETTINGS, soundDetails } from './installation.ts';
import { type App, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const db = await cacheDatabase(t);

const statusOf = async (app: App, user: string | undefined, path: string): Promise<number> =>
  (await app.call(user, 'GET', path)).status;

t.test('plugins are listed for all and for one target', async (t) => {
  const app = await installerApp(t, db);
  const all = await app.call('guest-7', 'GET', '/plugins');
  t.strictSame(responseFaults(schemaOf(app.routes, 'listPlugins', 200), all.text), []);
  t.strictSame([all.status, (all.body as unknown[]).length], [200, 3]);
  const some = await app.call('7', 'GET', '/plugins?install-target=PlainSite');
  t.equal((some.body as unknown[]).length, 2);
  t.match(await app.call('7', 'GET', '/plugins?install-target=Nowhere'), {
    status: 400,
    body: { status: 'bad-request', message: /'install-target' is 'Nowhere'/ },
  });
  t.equal(await statusOf(app, undefined, '/plugins'), 401);
});

t.test('anybody may ask what the installation is', async (t) => {
  const own = { ...SETTINGS[0], metaValidation: { required: ['name', 'dependencies', 'description', 'shortName'] } };
  const targets = [own as (typeof SETTINGS)[number], ...SETTINGS.slice(1)];
  const app = await installerApp(t, db, { settings: { installTargets: targets } });
  const answer = await app.call(undefined, 'GET', '/service-meta');
  t.strictSame(responseFaults(schemaOf(app.routes, 'getServiceMeta', 200), answer.text), []);
  t.equal(answer.status, 200);
  t.strictSame(answer.body, {
    buildInfo: { name: 'longshore', version: '1.2.3', node: 'v26' },
    configuration: {
      api: { maxUploadSize: 2_097_152, userMaxStorageSize: 4_194_304 },
      daemons: { reconciler: { enabled: true, fullRunInterval: '6h', slimRunInterval: '5m', performDeletes: true } },
      installTargets: [
        { id: 'PlainSite', name: 'Plain site', requiredFields: ['description'] },
        { id: 'GenomeSite', name: 'Genome site', requiredFields: ['experimentalOrganism'] },
        { id: 'VectorSite', name: 'Vector site', requiredFields: ['experimentalOrganism'] },
        {
          ...{ id: 'MicrobeSite', name: 'Microbe site' },
          requiredFields: ['projectName', 'programName', 'experimentalOrganism'],
        },
        {
          ...{ id: 'ClinicSite', name: 'Clinic site' },
          requiredFields: [
            ...['projectName', 'programName'],
            ...['datasetCharacteristics.studyDesign', 'datasetCharacteristics.studyType'],
          ],
        },
      ],
    },
    features: { supportedArchiveTypes: ['.zip', '.tar.gz', '.tgz'] },
  });
});

t.test('the fields that a target requires are those that are missed', async (t) => {
  const app = await installerApp(t, db, { settings: { installTargets: SETTINGS } });
  const meta = (await app.call(undefined, 'GET', '/service-meta')).body as {
    readonly configuration: { readonly installTargets: readonly { id: string; requiredFields?: string[] }[] };
  };
  const check = new DetailsCheck(installTargets(), dataTypes());
  for (const { id, requiredFields = [] } of meta.configuration.installTargets) {
    const { faults } = check.check({ ...soundDetails(), installTargets: [id] }, '1.8.0');
    t.strictSame(Object.keys(faults.errors().byKey), requiredFields, id);
  }
});

t.test('every refusal has the body that the contract describes', async (t) => {
  const app = await installerApp(t, db);
  const me = newUser();
  const schema = schemaOf(app.routes, 'getDataset', 404);
  for (const [user, path] of [
    [undefined, '/datasets'],
    [me, '/datasets/unknown'],
    [me, '/datasets?limit=x'],
    ['guest-7', '/datasets'],
  ] as const) {
    const answer = await app.call(user, 'GET', path);
    t.ok(answer.status >= 400);
    t.strictSame(responseFaults(schema, answer.text), [], path);
  }
});
