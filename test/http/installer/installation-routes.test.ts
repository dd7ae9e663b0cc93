import t from 'tap';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { SETTINGS } from './installation.ts';
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
  const app = await installerApp(t, db, { settings: { installTargets: SETTINGS } });
  const answer = await app.call(undefined, 'GET', '/service-meta');
  t.strictSame(responseFaults(schemaOf(app.routes, 'getServiceMeta', 200), answer.text), []);
  t.equal(answer.status, 200);
  t.strictSame(answer.body, {
    buildInfo: { name: 'longshore', version: '1.2.3', node: 'v26' },
    configuration: {
      api: { maxUploadSize: 2_097_152, userMaxStorageSize: 4_194_304 },
      daemons: { reconciler: { enabled: true, fullRunInterval: '6h', slimRunInterval: '5m', performDeletes: true } },
      installTargets: SETTINGS.filter((target) => target.enabled).map(({ id, name }) => ({ id, name })),
    },
    features: { supportedArchiveTypes: ['.zip', '.tar.gz', '.tgz'] },
  });
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
