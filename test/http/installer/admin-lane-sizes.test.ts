// The sizes of lanes, as the route takes them.

import t, { type Test } from 'tap';
import { laneSizesRoute } from '../../../http/installer/admin/lane-sizes.ts';
import { FakeProcessSettings } from '../../fakes/fake-process-settings.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

async function setup(t: Test) {
  const processSettings = new FakeProcessSettings();
  const routes = [laneSizesRoute({ processSettings })];
  const { port } = await listen(t, routes);
  const patch = async (lane: string, body: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}/admin/lanes/${lane}/sizes`, {
      method: 'PATCH',
      headers: { 'admin-token': ADMIN_TOKEN, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (response.ok) t.strictSame(responseFaults(schemaOf(routes, 'sizeLane', 200), text), []);
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  };
  return { processSettings, patch };
}

t.test('tells what differs from before', async (t) => {
  const { processSettings, patch } = await setup(t);
  const applied = [{ path: 'installer.lanes.import.workerCount', from: 10, to: 2 }];
  processSettings.sized = { kind: 'sized', applied };
  t.strictSame(await patch('import', { workerCount: 2 }), { status: 200, body: { applied } });
  t.strictSame(processSettings.sizes, [['import', { workerCount: 2 }]]);
});

t.test('a lane that there is not is 404 with those that there are', async (t) => {
  const { processSettings, patch } = await setup(t);
  processSettings.sized = { kind: 'unknown', lanes: ['import', 'install'] };
  const { status, body } = await patch('export', { workerCount: 2 });
  t.strictSame(
    [status, body.message],
    [404, "there is no lane 'export' whose sizes can change; there is: import, install"],
  );
});

t.test('a size outside its bounds is 422 with the bounds', async (t) => {
  const { processSettings, patch } = await setup(t);
  processSettings.sized = { kind: 'faulty', faults: [{ path: 'workerCount', text: 'found 21; allowed: 1..20' }] };
  const { status, body } = await patch('import', { workerCount: 21 });
  t.match([status, body], [422, { errors: { general: [], byKey: { workerCount: ['found 21; allowed: 1..20'] } } }]);
});

for (const body of [{ workerCount: 0 }, { workerCount: 1.5 }, { workerCount: '2' }, { workers: 2 }, [2]])
  t.test(`${JSON.stringify(body)} is 422`, async (t) => {
    const { processSettings, patch } = await setup(t);
    t.equal((await patch('import', body)).status, 422);
    t.strictSame(processSettings.sizes, []);
  });
