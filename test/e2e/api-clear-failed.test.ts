// Installs that failed on the running program are tried again at an administrator's word, and end where they should have.

import t from 'tap';
import { fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { settled } from '../support/site-state.ts';
import { countRows, queryTarget } from '../support/sites.ts';

const PATH = '/admin/rpc/installs/clear-failed';

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const owner = new Api(app.endpoints.installer, await app.token('11'));

const asAdmin = async (method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(app.endpoints.installer + path, {
    method,
    headers: { 'admin-token': app.endpoints.adminToken, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
};
const failed = async (): Promise<unknown> =>
  (await asAdmin('GET', '/admin/reports/installs/failed?expanded=false')).body;
const statuses = async (id: string): Promise<unknown> => {
  await settled(dir);
  const { status } = (await owner.json(`/datasets/${id}`)) as {
    status: { install: { installTarget: string; meta: { status: string }; data: { status: string } }[] };
  };
  return status.install.map(({ installTarget, meta, data }) => [installTarget, data.status, meta.status]);
};
const onAlpha = (text: string): Promise<unknown> => queryTarget(dir, 'AlphaDB', 'dataDb', text, []);

t.test('an install that failed for a reason of the site is made good', async (t) => {
  // Somebody else's table where the plugin wants its own.
  await onAlpha('create table genelist (something_else text)');
  const id = await owner.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: geneList(7) }]);
  t.strictSame(await statuses(id), [
    ['AlphaDB', 'failed-installation', 'queued'],
    ['BetaDB', 'complete', 'complete'],
  ]);
  t.strictSame(await failed(), { ids: [id] });

  await onAlpha('drop table genelist');
  const order = { targets: [{ datasetId: id, installTarget: 'AlphaDB' }] };
  t.strictSame(await asAdmin('POST', PATH, order), { status: 202, body: { state: 'started', skipRun: false } });
  for (;;) {
    const { body } = await asAdmin('GET', PATH);
    if ((body as { current?: object }).current) continue;
    t.match(body, { last: { datasets: 1, cleared: 1, jobs: 1, skipped: {}, failures: 0 } });
    break;
  }
  t.strictSame(await statuses(id), [
    ['AlphaDB', 'complete', 'complete'],
    ['BetaDB', 'complete', 'complete'],
  ]);
  t.equal(await countRows(dir, 'AlphaDB', 'genelist', id), 7);
  t.strictSame(await failed(), { ids: [] });
});
