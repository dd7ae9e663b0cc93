import t, { type Test } from 'tap';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type { ClearReport } from '../../../engine/ports/process-control.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { clearFailedRoutes } from '../../../http/installer/admin/clear-failed.ts';
import { FakeFailedInstalls } from '../../fakes/fake-failed-installs.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const PATH = '/admin/rpc/installs/clear-failed';
const REPORT: ClearReport = {
  startedAt: new Date('2026-01-02T03:04:05.678Z'),
  endedAt: new Date('2026-01-02T03:05:06.789Z'),
  run: true,
  datasets: 5,
  cleared: 4,
  jobs: 3,
  skipped: { busy: 2, 'target-away': 1 },
  failures: 1,
  failure: undefined,
};
const VIEW = {
  started: '2026-01-02T03:04:05.678Z',
  skipRun: false,
  datasets: 5,
  cleared: 4,
  jobs: 3,
  skipped: { busy: 2, 'target-away': 1 },
  failures: 1,
};

async function setup(t: Test) {
  const failedInstalls = new FakeFailedInstalls();
  const routes = clearFailedRoutes({ failedInstalls });
  const server = await listen(t, routes);
  const url = `http://127.0.0.1:${server.port}${PATH}`;
  const call = async (method: string, query = '', body?: unknown, more: Record<string, string> = {}) => {
    const response = await fetch(url + query, {
      method,
      headers: { 'admin-token': ADMIN_TOKEN, 'content-type': 'application/json', ...more },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const operation = method === 'GET' ? 'reportClearedInstalls' : 'clearFailedInstalls';
    t.strictSame(responseFaults(schemaOf(routes, operation, response.status), text), [], text);
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  };
  return { failedInstalls, call, url };
}

t.test('everything that failed is tried again, or only marked', async (t) => {
  const { failedInstalls, call } = await setup(t);
  for (const [query, skipRun] of [
    ['', false],
    ['?skip-run=false', false],
    ['?skip-run=true', true],
  ] as const)
    t.strictSame(await call('POST', query, { all: true }), { status: 202, body: { state: 'started', skipRun } });
  t.strictSame(
    failedInstalls.orders,
    [true, true, false].map((run) => ({ places: 'all', run })),
  );
});

t.test('only the installs that are named are tried again', async (t) => {
  const { failedInstalls, call } = await setup(t);
  const targets = [
    { datasetId: 'one', installTarget: PLASMO },
    { datasetId: 'one', installTarget: TOXO },
  ];
  for (const more of [{}, { all: false }])
    t.strictSame(await call('POST', '', { targets, ...more }), {
      status: 202,
      body: { state: 'started', skipRun: false },
    });
  const places = [PLASMO, TOXO].map((target) => ({ dataset: 'one' as DatasetId, target }));
  t.strictSame(failedInstalls.orders, [
    { places, run: true },
    { places, run: true },
  ]);
});

t.test('as many as fit into one order', async (t) => {
  const { failedInstalls, call } = await setup(t);
  const targets = Array.from({ length: 10_000 }, (_, n) => ({
    datasetId: `${n}`.padStart(64, 'x'),
    installTarget: 'T'.repeat(32),
  }));
  t.equal((await call('POST', '', { targets })).status, 202);
  t.equal(failedInstalls.orders[0]?.places.length, 10_000);
  const [one] = targets;
  t.match(await call('POST', '', { targets: [...targets, one] }), {
    status: 422,
    body: { errors: { byKey: { targets: [/has 10001 items/] } } },
  });
  t.equal((await call('POST', '', `{"targets":[],"x":"${'x'.repeat(2_000_000)}"}`)).status, 400);
});

t.test('an order that names nothing, or cannot be read, is refused', async (t) => {
  const { failedInstalls, call, url } = await setup(t);
  const place = { datasetId: 'one', installTarget: PLASMO };
  const either = /either 'all' is true, or 'targets' names the installs/;
  for (const [body, errors] of [
    [{}, { general: [either] }],
    [{ all: false }, { general: [either] }],
    [{ all: true, targets: [place] }, { general: [either] }],
    [{ targets: [] }, { byKey: { targets: [/has 0 items/] } }],
    [{ all: 'yes' }, { byKey: { all: [/true or false is required/] } }],
    [{ all: true, force: true }, { byKey: { force: [/is not a known field/] } }],
    [{ targets: [{ datasetId: 'one' }] }, { byKey: { 'targets[0].installTarget': [/is missing/] } }],
    [{ targets: [{ ...place, datasetId: '.b' }] }, { byKey: { 'targets[0].datasetId': [/pattern/] } }],
    [{ targets: [{ ...place, installTarget: 'Four' }] }, { byKey: { 'targets[0].installTarget': [/has 4/] } }],
    [{ targets: [{ ...place, installTarget: 'T'.repeat(33) }] }, { byKey: { 'targets[0].installTarget': [/has 33/] } }],
    [[], {}],
  ] as const)
    t.match(
      await call('POST', '', body),
      { status: 422, body: { status: 'invalid-input', errors } },
      JSON.stringify(body),
    );
  t.match(await call('POST', '', '{"all":'), { status: 400, body: { message: /is not JSON/ } });
  t.match(await call('POST', '?skip-run=perhaps', { all: true }), { status: 400, body: { message: /'skip-run'/ } });
  t.match(await call('POST', '?skip_run=true', { all: true }), { status: 400, body: { message: /known: skip-run/ } });
  const text = { 'admin-token': ADMIN_TOKEN, 'content-type': 'text/plain' };
  t.equal((await fetch(url, { method: 'POST', headers: text, body: '{}' })).status, 415);
  t.strictSame(failedInstalls.orders, []);
});

t.test('one run at a time, and none while the process is shutting down', async (t) => {
  const { failedInstalls, call } = await setup(t);
  failedInstalls.current = REPORT;
  t.match(await call('POST', '', { all: true }), { status: 409, body: { status: 'conflict' } });
  failedInstalls.failure = transient('the process is shutting down');
  t.match(await call('POST', '', { all: true }), { status: 503, body: { status: 'server-error' } });
});

t.test('the run under way and the last one can be read', async (t) => {
  const { failedInstalls, call } = await setup(t);
  t.strictSame(await call('GET'), { status: 200, body: {} });
  failedInstalls.current = { ...REPORT, run: false, skipped: {}, failures: 0 };
  t.strictSame((await call('GET')).body, { current: { ...VIEW, skipRun: true, skipped: {}, failures: 0 } });
  failedInstalls.lastReport = { ...REPORT, failure: 'no cache' };
  failedInstalls.current = undefined;
  t.strictSame((await call('GET')).body, {
    last: { ...VIEW, failure: 'no cache', ended: '2026-01-02T03:05:06.789Z' },
  });
});
