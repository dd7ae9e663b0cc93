import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { transient } from '../../../engine/runtime/failure.ts';
import { pruneRoutes, reconcileRoutes } from '../../../http/installer/admin/daemons.ts';
import { FakePrunerControl, FakeReconcilerControl } from '../../fakes/fake-daemons.ts';
import { PRUNER_REPORT, RECONCILER_REPORT } from '../../fixtures/daemon-reports.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const RECONCILE = '/admin/rpc/datasets/reconcile';
/** Noon. */
const NOW = Date.UTC(2026, 0, 31, 12);
const PRUNE = '/admin/rpc/datasets/prune';

async function setup(t: Test) {
  const reconciler = new FakeReconcilerControl(RECONCILER_REPORT);
  const pruner = new FakePrunerControl(PRUNER_REPORT);
  const routes = [...reconcileRoutes({ reconciler }), ...pruneRoutes({ pruner, clock: { now: () => NOW } })];
  const server = await listen(t, routes);
  const call = async (
    method: string,
    path: string,
    headers: Record<string, string> = { 'admin-token': ADMIN_TOKEN },
  ) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers });
    const text = await response.text();
    const route = routes.find((one) => one.method === method && path.split('?')[0] === one.path);
    if (route && response.ok)
      t.strictSame(responseFaults(schemaOf(routes, route.operationId, response.status), text), [], text);
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  };
  return { reconciler, pruner, call };
}

const RECONCILED = {
  kind: 'full',
  started: '2026-01-02T03:04:05.678Z',
  listed: 1_000,
  malformed: 2,
  reconciled: 30,
  absent: { cache: 4, [PLASMO]: 3 },
  deleted: 3,
  spared: 1,
  leftOut: [{ installTarget: TOXO, reason: 'connect ECONNREFUSED' }],
};
const PRUNED = {
  started: '2026-01-02T03:04:05.678Z',
  cutoff: '2025-12-03T03:04:05.678Z',
  pruned: 4,
  trimmed: 5,
  skipped: { 'too-young': 6, 'not-uninstalled': 1 },
  failures: 0,
};
const ended = '2026-01-02T03:05:06.789Z';

t.test('a full run is started, which deletes many only when asked to', async (t) => {
  const { reconciler, call } = await setup(t);
  for (const [query, allowDeletes] of [
    ['', false],
    ['?allow-deletes=false', false],
    ['?allow-deletes=true', true],
  ] as const)
    t.strictSame(await call('POST', RECONCILE + query), {
      status: 202,
      body: { state: 'started', kind: 'full', allowDeletes },
    });
  t.strictSame(
    reconciler.orders,
    [false, false, true].map((allowDeletes) => ({ kind: 'full', allowDeletes })),
  );
});

t.test('pruning is started, with the age that is asked for', async (t) => {
  const { pruner, call } = await setup(t);
  for (const [query, more] of [
    ['', {}],
    ['?age_cutoff=1d%2012h', { ageCutoff: '1d 12h' }],
    ['?age_cutoff=0s', { ageCutoff: '0s' }],
  ] as const)
    t.strictSame(await call('POST', PRUNE + query), { status: 202, body: { state: 'started', ...more } });
  t.strictSame(pruner.orders, [{}, { minAgeMs: 36 * 3_600_000 }, { minAgeMs: 0 }]);
});

t.test('pruning takes a date, too: what was deleted before it goes', async (t) => {
  const { pruner, call } = await setup(t);
  const HOUR = 3_600_000;
  for (const [asked, hours] of [
    ['2026-01-30', 36],
    ['2026-01-31T00', 12],
    ['2026-01-31T11:00:00', 1],
    ['2026-01-31T11:00:00Z', 1],
    ['2026-01-31T11:00:00.123Z', 1],
  ] as const) {
    const { status, body } = await call('POST', `${PRUNE}?age_cutoff=${asked}`);
    t.strictSame([status, body], [202, { state: 'started', ageCutoff: asked }]);
    t.strictSame(pruner.orders.at(-1), { minAgeMs: hours * HOUR }, asked);
  }
  const before = pruner.orders.length;
  for (const [asked, why] of [
    ['2026-02-30', /expected a duration such as 30d or 1d 12h, or a date such as 2026-01-31/],
    ['2022-3-15', /expected a duration/],
    ['yesterday', /expected a duration/],
    ['2026-02-01', /which is yet to come/],
  ] as const) {
    const { status, body } = await call('POST', `${PRUNE}?age_cutoff=${asked}`);
    t.match([status, body], [400, { status: 'bad-request', message: why }], asked);
  }
  t.equal(pruner.orders.length, before);
});

t.test('each tells of its run under way, then of its last', async (t) => {
  const { reconciler, pruner, call } = await setup(t);
  for (const [daemon, path, shown] of [
    [reconciler, RECONCILE, RECONCILED],
    [pruner, PRUNE, PRUNED],
  ] as const) {
    t.strictSame(await call('GET', path), { status: 200, body: {} });
    daemon.looks = 1;
    await call('POST', path);
    t.strictSame(await call('GET', path), { status: 200, body: { current: shown } });
    t.strictSame(await call('GET', path), { status: 200, body: { last: { ...shown, ended } } });
  }
  reconciler.report = { ...RECONCILER_REPORT, wouldDelete: {}, leftOut: [], braked: 'too many', failure: 'no store' };
  await call('POST', RECONCILE);
  t.strictSame((await call('GET', RECONCILE)).body, {
    current: { ...RECONCILED, absent: {}, leftOut: [], braked: 'too many', failure: 'no store' },
    last: { ...RECONCILED, ended },
  });
  pruner.looks = 0;
  pruner.report = { ...PRUNER_REPORT, skipped: {}, failures: 2, failure: 'no store' };
  await call('POST', PRUNE);
  t.strictSame((await call('GET', PRUNE)).body, {
    last: { ...PRUNED, skipped: {}, failures: 2, failure: 'no store', ended },
  });
});

t.test('a run under way is a conflict, and so is a daemon of another process', async (t) => {
  const { reconciler, pruner, call } = await setup(t);
  for (const [daemon, path, name] of [
    [reconciler, RECONCILE, 'reconciler'],
    [pruner, PRUNE, 'pruner'],
  ] as const)
    for (const [answer, told] of [
      ['running', `a run of the ${name} is under way`],
      ['elsewhere', `another process .* runs the ${name}`],
    ] as const) {
      daemon.answer = answer;
      t.match(await call('POST', path), { status: 409, body: { status: 'conflict', message: new RegExp(told) } });
    }
});

t.test('a daemon that is not there yet may be asked later', async (t) => {
  const { reconciler, call } = await setup(t);
  reconciler.order = async () => {
    throw transient("daemon 'reconciler' is not running yet");
  };
  t.match(await call('POST', RECONCILE), { status: 503, body: { status: 'server-error' } });
});

t.test('what cannot be asked for is refused by its name', async (t) => {
  const { reconciler, pruner, call } = await setup(t);
  for (const [path, message] of [
    [`${RECONCILE}?allow-deletes=maybe`, /'allow-deletes' is 'maybe'/],
    [`${RECONCILE}?allow_deletes=true`, /'allow_deletes' is unknown; known: allow-deletes/],
    [
      `${PRUNE}?age_cutoff=soon`,
      /'age_cutoff' is 'soon': expected a duration such as 30d or 1d 12h, or a date such as 2026-01-31/,
    ],
    [`${PRUNE}?age_cutoff=`, /'age_cutoff' is ''/],
    [`${PRUNE}?age_cutoff=-1d`, /'age_cutoff' is '-1d'/],
    [`${PRUNE}?age-cutoff=1d`, /'age-cutoff' is unknown; known: age_cutoff/],
  ] as const)
    t.match(await call('POST', path), { status: 400, body: { status: 'bad-request', message } }, path);
  t.strictSame([reconciler.orders, pruner.orders], [[], []]);
});
