// Deployed clients that name no version refuse a whole answer in which an install is `queued`. Every answer that shows the
// status of installs is asked here, with a version and without.

import t from 'tap';
import { PostgresCatalog } from '../../../engine/adapters/catalog/catalog-postgres.ts';
import { targetId } from '../../../engine/model/ids.ts';
import type { RouteResponse } from '../../../http/kernel/pipeline/route.ts';
import { cacheDatabase, grantLease } from '../../support/cache-database.ts';
import { DATASET, metadata } from './datasets.ts';
import { OWNER } from './installation.ts';
import { ADMIN_TOKEN, installerApp } from './installer-app.ts';

const db = await cacheDatabase(t);
const app = await installerApp(t, db);
const document = metadata({ visibility: 'public' });
await new PostgresCatalog(db).register(
  { owner: OWNER, dataset: DATASET },
  document,
  [
    { set: 'import', status: 'complete', messages: [] },
    { set: 'install', target: targetId('PlainSite'), kind: 'data', status: 'failed-installation', messages: ['why'] },
  ],
  await grantLease(db, DATASET),
  new AbortController().signal,
);

const ANSWERS: Readonly<Record<string, string>> = {
  listDatasets: '/datasets',
  listCommunityDatasets: '/datasets/community',
  getDataset: `/datasets/${DATASET}`,
  reportDatasets: '/admin/reports/datasets/list-all',
  reportFailedInstalls: '/admin/reports/installs/failed',
};

/** One of two sites failed, the other waits. */
const failed = { status: 'failed-installation', messages: ['why'] };
const queued = { status: 'queued' };
const NAMED = [
  { installTarget: 'PlainSite', meta: queued, data: failed },
  { installTarget: 'GenomeSite', meta: queued, data: queued },
];
const UNNAMED = [{ installTarget: 'PlainSite', meta: { status: 'failed-installation' }, data: failed }];

const showsInstalls = (response: RouteResponse | undefined): boolean =>
  JSON.stringify(response?.schema ?? {}).includes('"InstallState"');

/** The one member of that name, wherever it stands. */
function installIn(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const found = Object.entries(value).map(([name, member]) =>
    name === 'install' && Array.isArray(member) ? member : installIn(member),
  );
  return found.find((one) => one !== undefined);
}

t.test('the answers asked here are all that show the status of installs', async (t) => {
  const shown = app.routes.filter(({ responses }) => showsInstalls(responses[200])).map((one) => one.operationId);
  t.same(shown.sort(), Object.keys(ANSWERS).sort());
});

for (const [operation, path] of Object.entries(ANSWERS))
  t.test(`${operation} shows queued installs to those who name a version, and to nobody else`, async (t) => {
    const ask = async (headers: Record<string, string>): Promise<unknown> => {
      const user = path.startsWith('/admin') ? undefined : OWNER;
      const credentials = user === undefined ? { 'admin-token': ADMIN_TOKEN } : {};
      const answer = await app.call(user, 'GET', path, { headers: { ...credentials, ...headers } });
      t.equal(answer.status, 200, answer.text);
      if (Object.keys(headers).length === 0) t.notMatch(answer.text, '"queued"');
      return installIn(answer.body);
    };
    for (const version of ['1.7.0', '1.8.0']) t.strictSame(await ask({ 'api-version': version }), NAMED);
    t.strictSame(await ask({}), UNNAMED);
  });
