// The table of metrics in docs/metrics.md against what `longshore up` registers: composed as it composes itself, from the
// configuration that it writes, on a database of the test's.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { REPORT_LANE } from '../actors/report/report-lane.ts';
import { RUNNING_LANES } from '../actors/topology.ts';
import { loadConfig } from '../bin/cli/load-config.ts';
import { compose } from '../bin/compose/compose.ts';
import { dataDir } from '../bin/compose/data-dir.ts';
import { embeddedConfig } from '../bin/compose/embedded-config.ts';
import { LiveSettings } from '../bin/compose/live-settings.ts';
import type { Configuration } from '../config/configuration.ts';
import { writeSampleLaunchers } from '../config/samples/launchers.ts';
import { SAMPLE_NAMES, SAMPLES } from '../config/samples/samples.ts';
import { LogThreshold, silentLogger } from '../engine/runtime/log.ts';
import { Metrics } from '../engine/runtime/metrics.ts';
import { observeProcess } from '../engine/runtime/process-metrics.ts';
import { Scope } from '../engine/runtime/scope.ts';
import { Supervisor } from '../engine/runtime/supervisor.ts';
import { systemClock } from '../engine/runtime/time.ts';
import { newKeyPair } from '../http/kernel/auth/local-issuer.ts';
import { EMPTY_LOGS } from './fakes/empty-logs.ts';
import { FakeProcessSettings } from './fakes/fake-process-settings.ts';
import { testDatabase } from './support/database.ts';
import { type MetricRow, printRow, readMetricsTable, registeredMetrics } from './support/metrics-table.ts';

const GROUPS = [
  'lanes',
  'jobs',
  'datasets',
  'dependencies',
  'daemons',
  'plugins',
  'threads',
  'HTTP',
  'handler',
  'reports',
  'plugin host',
  'process',
];
const never = new AbortController().signal;

const table = readMetricsTable(await readFile(join(import.meta.dirname, '..', 'docs', 'metrics.md'), 'utf8'));

/** The parts of the written file that name its own PostgreSQL. */
interface WrittenDatabases {
  readonly installer: {
    cacheDb: object;
    readonly installTargets: { controlDb: object; dataDb: object }[];
  };
}

/** What `up` would run, on any free ports. */
async function configure(t: Test): Promise<Configuration> {
  const dir = dataDir(t.testdir());
  const { database, host, port, user, password } = await testDatabase(t);
  const launchers = await writeSampleLaunchers(dir.plugins, [process.execPath]);
  await writeFile(dir.tokenPublicKey, (await newKeyPair()).publicKeyPem);
  await mkdir(dir.objects);
  const plugins = SAMPLE_NAMES.map((name) => ({ ...SAMPLES[name], name, scripts: launchers[name] }));
  const document = parse(embeddedConfig(dir, 8080, plugins)) as WrittenDatabases;
  const ours = { server: { host, port }, name: database, username: user, password };
  document.installer.cacheDb = ours;
  for (const target of document.installer.installTargets) {
    target.controlDb = { ...target.controlDb, ...ours };
    target.dataDb = { ...target.dataDb, ...ours };
  }
  await writeFile(dir.config, stringify(document), { mode: 0o600 });
  const loaded = await loadConfig(dir.config, { env: {}, err: (warning) => t.comment(warning) });
  const ports = { installer: 0, handler: 0, report: 0, access: 0, pluginHost: 0 };
  return { ...loaded, containerCore: { ...loaded.containerCore, ports } };
}

/** The metrics of a process that runs the configuration. */
async function running(t: Test): Promise<Metrics> {
  const configuration = await configure(t);
  const metrics = new Metrics();
  const parts = { clock: systemClock, log: silentLogger() };
  const scope = new Scope(parts);
  t.teardown(() => scope[Symbol.asyncDispose]());
  scope.use('process metrics', observeProcess(metrics, systemClock));
  const scratchDir = t.testdirName;
  const live = new LiveSettings(configuration, new LogThreshold('silent'));
  const settings = new FakeProcessSettings();
  const all = { ...parts, metrics, env: {}, scratchDir, live, settings, logs: EMPTY_LOGS };
  const service = await compose(configuration, all, scope, never);
  const tree = new Supervisor({ name: 'longshore', ...parts, metrics, children: service.children });
  t.teardown(() => tree.stop(systemClock.now() + 10_000));
  await tree.start(never);
  return metrics;
}

/** Values of a label, each once. */
async function valuesOf(metrics: Metrics, name: string, label: string): Promise<readonly string[]> {
  const found = (await metrics.text()).matchAll(new RegExp(`^${name}{(?:.*,)?${label}="([^"]*)"`, 'gm'));
  return [...new Set([...found].map(([, value]) => value ?? ''))].sort();
}

/** One line per metric, so that a difference shows what differs. */
const lines = (rows: readonly MetricRow[]): string[] => rows.map(printRow).sort();

t.test('the table has a row for each metric of a running process, and no other', async (t) => {
  const registered = await registeredMetrics(await running(t));
  const documented = new Set(table.rows.map(({ name }) => name));
  const known = new Set(registered.map(({ name }) => name));
  t.strictSame(
    lines(registered.filter(({ name }) => !documented.has(name))),
    [],
    'add these rows to the table in docs/metrics.md, in their group',
  );
  t.strictSame(
    lines(table.rows.filter(({ name }) => !known.has(name))),
    [],
    'remove these rows from the table in docs/metrics.md, or register their metrics at start',
  );
  t.strictSame(
    lines(table.rows.filter(({ name }) => known.has(name))),
    lines(registered.filter(({ name }) => documented.has(name))),
    'type, label names and help text are those of the table',
  );
});

t.test('every lane and every plugin is there before its first job', async (t) => {
  const metrics = await running(t);
  const lanes = [...RUNNING_LANES, REPORT_LANE].sort();
  for (const name of ['depth', 'capacity', 'in_flight', 'workers', 'unwritten', 'retries_total', 'dead_total'])
    t.strictSame(await valuesOf(metrics, `longshore_lane_${name}`, 'lane'), lanes, name);
  t.strictSame(await valuesOf(metrics, 'longshore_plugin_breaker_open', 'plugin'), [...SAMPLE_NAMES].sort());
});

t.test('every row stands once, in a group, and says what to watch for', async (t) => {
  t.strictSame(table.groups, GROUPS);
  t.strictSame(table.lacking, []);
  const names = table.rows.map(({ name }) => name);
  t.strictSame(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  );
});

t.test('names keep to the conventions of Prometheus', async (t) => {
  const faults = table.rows.filter(({ name, type, labels }) => {
    if (!/^(longshore|process|nodejs)_[a-z0-9_]+$/.test(name) || /_(count|sum|bucket)$/.test(name)) return true;
    if ((type === 'counter') !== name.endsWith('_total')) return true;
    if (type === 'histogram' && !/_(seconds|bytes)$/.test(name)) return true;
    return labels.some((label) => !/^[a-z][a-z_]*$/.test(label) || label === 'le');
  });
  t.strictSame(lines(faults), []);
});

t.test('a metric without a row, a row without a metric and a row that differs are told apart', async (t) => {
  const metrics = new Metrics();
  metrics.gauge('lane_depth', 'Jobs.', ['lane']);
  metrics.counter('made_total', 'Made.', ['result', 'kind']);
  const markdown = [
    '# Metrics',
    '| name | type | labels (values) | meaning | watch for |',
    '| --- | --- | --- | --- | --- |',
    '| **lanes** | | | | |',
    '| `longshore_lane_depth` | gauge | `lane` (import, install) | Jobs. | `longshore_made_total` |',
    '| `longshore_gone` | gauge | | Gone. | |',
    '## Next',
    '| `longshore_elsewhere` | gauge | | No row. | x |',
  ].join('\n');
  const depth = { name: 'longshore_lane_depth', type: 'gauge', labels: ['lane'], meaning: 'Jobs.' };
  t.strictSame(readMetricsTable(markdown), {
    rows: [depth, { name: 'longshore_gone', type: 'gauge', labels: [], meaning: 'Gone.' }],
    groups: ['lanes'],
    lacking: ['longshore_gone'],
  });
  t.strictSame(await registeredMetrics(metrics), [
    depth,
    { name: 'longshore_made_total', type: 'counter', labels: ['kind', 'result'], meaning: 'Made.' },
  ]);
  t.throws(() => readMetricsTable('## Other\n'), { message: "no heading '# Metrics'" });
});
