import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { EXIT, UsageError } from '../../../../bin/cli/command.ts';
import { Screen } from '../../../../bin/cli/terminal/screen.ts';
import { frameOf, overviewOf } from '../../../../bin/cli/top/overview.ts';
import { MetricSamples, type Reading } from '../../../../bin/cli/top/reading.ts';
import { top } from '../../../../bin/commands/top.ts';
import { FakeTerminal } from '../../../fakes/fake-terminal.ts';
import { freePort } from '../../../support/ports.ts';
import { run } from '../../../support/run-command.ts';

const AT = Date.UTC(2026, 0, 1, 12, 0, 0);

const metrics = (done: number, started = AT / 1_000 - 60): string => `# HELP longshore_lane_workers x
longshore_lane_workers{lane="import"} 10
longshore_lane_in_flight{lane="import"} 3
longshore_lane_depth{lane="import"} 2
longshore_jobs{lane="import",state="queued"} 7
longshore_jobs{lane="import",state="dead"} 1
longshore_jobs_oldest_seconds{lane="import"} 90
longshore_lane_jobs_total{lane="import",outcome="done"} ${done}
longshore_lane_retries_total{lane="import",cause="waiting"} 500
longshore_lane_retries_total{lane="import",cause="failed"} ${done / 10}
longshore_daemon_runs_total{daemon="pruner",result="done"} 4
longshore_daemon_runs_total{daemon="pruner",result="failed"} 1
longshore_daemon_leader{daemon="pruner"} 1
longshore_daemon_last_run_timestamp_seconds{daemon="pruner"} ${AT / 1_000 - 5}
process_start_time_seconds ${started}
process_resident_memory_bytes 2.5e+08
`;

function reading(text: string, at = AT): Reading {
  const dependencies = [
    { name: 'cache-db', status: 'healthy' },
    { name: 'target\u001b[2J Alpha', status: 'unhealthy', message: 'away\nfor long' },
  ];
  const job = {
    id: 7,
    lane: 'import',
    datasetId: 'd1',
    owner: '1',
    state: 'running',
    attempts: 2,
    eventId: 1,
  } as const;
  const jobs = [{ ...job, message: 'try 2', created: new Date(AT - 90_000).toISOString() }];
  return {
    at,
    samples: new MetricSamples(text),
    status: 'degraded',
    version: '1.2',
    dependencies,
    paused: [],
    oldest: { at, jobs },
  };
}

t.test('reads the Prometheus text format', async (t) => {
  const samples = new MetricSamples(
    '# HELP a x\n# TYPE a gauge\na{l="1",m="x"} 1.5\na{l="2",m="x,\\"y\\"}"} 2 1395066363000\nb -Inf\nc +Inf\n\nnonsense\n',
  );
  const values = [samples.value('a'), samples.value('a', { l: '2' }), samples.value('a', { l: '3' })];
  t.strictSame(values, [3.5, 2, undefined]);
  t.strictSame([samples.value('b'), samples.value('c')], [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
  t.strictSame(samples.values('a', 'm'), ['x', 'x,"y"}']);
  t.strictSame(samples.values('nonsense', 'm'), []);
});

t.test('two looks make rates; one look, and one after a restart, has none', async (t) => {
  const before = reading(metrics(100), AT - 2_000);
  const lane = (overview: ReturnType<typeof overviewOf>) => overview.lanes[0];
  const states = { queued: 7, delayed: 0, dead: 1 };
  const counted = { lane: 'import', busy: 3, workers: 10, claimed: 2, ...states, oldestSeconds: 90 };
  t.strictSame(lane(overviewOf('http://x', before, reading(metrics(150)))), {
    ...counted,
    ...{ donePerSecond: 25, failedPerSecond: 2.5 },
  });
  const without = { ...counted, donePerSecond: undefined, failedPerSecond: undefined };
  t.strictSame(lane(overviewOf('http://x', undefined, reading(metrics(150)))), without);
  t.strictSame(lane(overviewOf('http://x', before, reading(metrics(5, AT / 1_000 - 1)))), without);
});

t.test('a frame has lanes, jobs, dependencies and daemons, and fits', async (t) => {
  const overview = overviewOf('http://x', reading(metrics(100), AT - 2_000), reading(metrics(150)));
  const text = (width?: number) => frameOf(overview, undefined, width).map((line) => line.text);
  t.strictSame(
    text(),
    [
      'longshore top   http://x   version 1.2   degraded   up 1 m 0 s   12:00:00',
      'memory 250 MB   requests 0 now',
      '',
      'lane    busy  claimed  queued  delayed  dead  done/s  failed/s  oldest',
      'import  3/10        2       7        0     1    25.0      2.50  1 m 30 s',
      '',
      'oldest job  lane    state    dataset       age  attempts  message',
      '         7  import  running  d1       1 m 30 s         2  try 2',
      '',
      '1 of 2 dependencies are healthy: cache-db',
      '',
      'not working   status     message',
      'target Alpha  unhealthy  away for long',
      '',
      'daemon  leads  runs  failed  last run  last success',
      'pruner  yes       5       1   5 s ago',
    ].map((line) => line.replace('failed/s  oldest', 'failed/s    oldest')),
  );
  const paused = [
    { kind: 'lane', name: 'import', since: new Date(AT - 90_000).toISOString() },
    { kind: 'target', name: 'Alpha', since: new Date(AT - 5_000).toISOString(), until: '2026-01-02T00:00:00.000Z' },
  ];
  const frame = frameOf(overviewOf('http://x', undefined, { ...reading(metrics(1)), paused }), undefined, undefined);
  t.strictSame(
    frame.slice(6, 9).map(({ text }) => text),
    [
      'paused  name    for       until',
      'lane    import  1 m 30 s',
      'target  Alpha   5 s       2026-01-02T00:00:00.000Z',
    ],
  );
  const away = { since: new Date(AT - 10_000), reason: 'refused\u0007' };
  t.equal(frameOf(overview, away, 80)[1]?.text, 'no answer since 11:59:50, retrying: refused ');
});

t.test('a wide terminal has room for the curve of each lane', async (t) => {
  const history = { at: AT, series: { 'lane.import.done': [0, 1, null, 2] } };
  const overview = overviewOf('http://x', undefined, { ...reading(metrics(1)), history });
  const lines = (width?: number) => frameOf(overview, undefined, width).map(({ text }) => text);
  for (const width of [undefined, 100]) {
    t.match(lines(width)[3], / oldest {2}done, last hour$/);
    t.match(lines(width)[4], / 1 m 30 s {2}▁▅ █$/);
  }
  t.notMatch(lines(99).join('\n'), 'last hour');
});

t.test('a screen is given back as it was, once, and draws what fits', async (t) => {
  const terminal = new FakeTerminal(10, 4);
  const screen = new Screen(terminal);
  screen.draw(['1234567890x', '2', '3', '4', '5'].map((text) => ({ text })));
  t.equal(terminal.written.at(-1), '\u001b[H123456789…\u001b[K\r\n2\u001b[K\r\n…\u001b[K\r\n5\u001b[K\u001b[J');
  terminal.resize(5);
  t.match(terminal.written.at(-1), '1234…');
  screen[Symbol.dispose]();
  screen[Symbol.dispose]();
  screen.draw([{ text: 'too late' }]);
  t.equal(terminal.written[0], '\u001b[?1049h\u001b[?25l');
  t.equal(terminal.written.filter((text) => text === '\u001b[?25h\u001b[?1049l').length, 1);
  t.notMatch(terminal.written.join(''), 'too late');
  t.equal(terminal.listeners, 0);
});

/** A server with metrics and health that does not know the administrators' part. */
async function setup(t: Test) {
  const server = createServer((request, response) => {
    if (request.url === '/metrics') return response.end(metrics(10));
    if (request.url === '/health') return response.end('{"status":"healthy","version":"1.2","dependencies":[]}');
    return response.writeHead(403).end('{"message":"the Admin-Token is wrong"}');
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('one frame, and one document, without a terminal', async (t) => {
  const url = await setup(t);
  const args = ['--server', url, '--once', '--interval', '100ms'];
  const { code, out } = await run(top, args);
  t.equal(code, EXIT.ok);
  t.match(out, /^longshore top {3}http.*\n(.*\n)*import {2}3\/10 .*\n(.*\n)*oldest jobs: --admin-token T shows them\n/);
  const machine = await run(top, [...args, '--json', '--admin-token', 'wrong']);
  t.match(JSON.parse(machine.out), {
    ...{ server: url, status: 'healthy', oldestJobsHidden: '403: the Admin-Token is wrong' },
    lanes: [{ lane: 'import', busy: 3, workers: 10, donePerSecond: 0 }],
  });
});

t.test('what cannot be shown is said', async (t) => {
  const url = await setup(t);
  const refusals: readonly (readonly [args: readonly string[], message: string])[] = [
    [['--server', url], 'standard output is not a terminal: use --once or --json'],
    [['--server', url, 'x'], "'x' is not expected here"],
    [
      ['--server', url, '--interval', '0'],
      "--interval '0': must be from 0.1 to 3600 seconds, or a duration such as 500ms or 1m",
    ],
  ];
  for (const [args, message] of refusals) await t.rejects(run(top, args), new UsageError(message));
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  await t.rejects(run(top, ['--server', nowhere, '--once']), {
    kind: 'transient',
    unreachable: true,
    message: nowhere,
  });
});
