import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { MetricsHistory } from '../../../engine/runtime/metrics-history.ts';
import { metricsHistoryRoute } from '../../../http/installer/admin/metrics-history.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const PATH = '/admin/metrics/history';

/** Two hours of samples of three series, one a minute, up to noon, and a sample of each of the others. */
async function setup(t: Test, others: readonly string[] = []) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 12));
  const history = new MetricsHistory();
  history.add(clock.now() - 121 * 60_000, new Map(others.map((name) => [name, 1])));
  for (let minute = 120; minute > 0; minute--)
    history.add(
      clock.now() - minute * 60_000,
      new Map([
        ['lane.import.queued', minute],
        ['lane.import.done', 2],
        ['process.memory', 100],
      ]),
    );
  const routes = [metricsHistoryRoute({ history, clock })];
  const { port } = await listen(t, routes);
  return async (query: string) => {
    const url = `http://127.0.0.1:${port}${PATH}${query}`;
    const response = await fetch(url, { headers: { 'admin-token': ADMIN_TOKEN } });
    const text = await response.text();
    if (response.ok) t.strictSame(responseFaults(schemaOf(routes, 'readMetricsHistory', 200), text), []);
    return { status: response.status, body: JSON.parse(text) as Readonly<Record<string, unknown>> };
  };
}

const NAMES = ['lane.import.queued', 'lane.import.done', 'process.memory'];

t.test('without a name it lists the series', async (t) => {
  const ask = await setup(t);
  t.strictSame((await ask('')).body, { from: '2026-01-02T11:00:00.000Z', step: 15, names: NAMES, series: {} });
});

t.test('the last hour, or from a time on, in steps', async (t) => {
  const ask = await setup(t);
  const { body } = await ask('?series=lane.import.queued&step=900');
  t.strictSame(body.series, { 'lane.import.queued': [53, 38, 23, 8] });
  const late = await ask('?series=lane.,process.memory&from=2026-01-02T11:58&step=60');
  t.strictSame(late.body, {
    from: '2026-01-02T11:58:00.000Z',
    step: 60,
    names: NAMES,
    series: { 'lane.import.queued': [2, 1], 'lane.import.done': [2, 2], 'process.memory': [100, 100] },
  });
});

t.test('what cannot be shown is refused', async (t) => {
  const ask = await setup(t);
  for (const [query, message] of [
    ['?series=lane', /'lane', which no series is or begins with/],
    ['?series=process.memory,x.', /'x\.'/],
    ['?from=2026-01-03', /'from' is in the future/],
    ['?from=yesterday!!', /'from'/],
    ['?step=14', /'step'/],
  ] as const) {
    const { status, body } = await ask(query);
    t.equal(status, 400, query);
    t.match(body.message, message);
  }
});

t.test('more values than an answer may have are refused, and fewer are shown', async (t) => {
  const ask = await setup(
    t,
    Array.from({ length: 8 }, (_, i) => `many.${i}`),
  );
  const day = 'from=2026-01-01T12:00';
  t.match(await ask(`?series=many.&${day}&step=15`), {
    status: 400,
    body: { message: 'these are 46080 values; expected at most 40000: use a longer step, or fewer series' },
  });
  t.equal((await ask(`?series=many.&${day}&step=18`)).status, 200);
});
