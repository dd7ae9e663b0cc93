// A running `longshore up` under a real Prometheus: what it shows, and an alert that comes and goes.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { settled } from '../support/site-state.ts';
import { configureWithRemote } from './configure-with-remote.ts';
import { dashboardExpressions } from './dashboard.ts';
import { mentionsIn } from './metric-names.ts';
import { Prometheus } from './prometheus.ts';
import { promtool } from './promtool.ts';
import { RULES } from './rules.ts';

/** A look at the dependencies, and a scrape and an evaluation of the rules after it, with room for a busy machine. */
const NOTICED_MS = 45_000;

const path = await tempDir(t);
const pluginPort = await freePort();
const portBase = await freePortBase();
await configureWithRemote(path, portBase, pluginPort);
let plugin = await listen();
t.teardown(() => plugin.close());
const app = await up(t, path, ['--port-base', String(portBase)]);
const prometheus = await Prometheus.start(join(path, 'prometheus'), new URL(app.endpoints.installer).host);
t.teardown(() => prometheus[Symbol.asyncDispose]());

t.test('promtool finds nothing in the metrics of a process that has worked', async (t) => {
  const api = new Api(app.endpoints.installer, await app.token('11'));
  await api.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: geneList(3) }]);
  await settled(path);
  for (const url of [app.endpoints.installer, app.endpoints.handler, app.endpoints.pluginHost]) {
    const answer = await fetch(`${url}/metrics`);
    t.equal(answer.status, 200);
    const { code, text } = await promtool(['check', 'metrics'], await answer.text());
    t.strictSame({ code, text }, { code: 0, text: '' }, url);
  }
});

t.test('it registers every metric that the rules and the dashboard ask for', async (t) => {
  const text = await (await fetch(`${app.endpoints.installer}/metrics`)).text();
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const recorded = new Set(RULES.flatMap(({ record }) => (record === undefined ? [] : [record])));
  const asked = [...RULES.map(({ expr }) => expr), ...dashboardExpressions()]
    .flatMap((expression) => mentionsIn(expression).map(({ metric }) => metric))
    .filter((metric) => !recorded.has(metric) && metric !== 'up' && metric !== 'ALERTS');
  const isThere = (metric: string): boolean =>
    types.has(metric) || types.get(metric.replace(/_(bucket|sum|count)$/, '')) === 'histogram';
  t.strictSame(
    [...new Set(asked)].filter((metric) => !isThere(metric)),
    [],
  );
  t.ok(asked.length > 50);
});

t.test('nothing fires while all is well', async (t) => {
  const seen = await prometheus.until(
    () => prometheus.query('longshore_dependency_up'),
    (values) => values.size >= 8 && [...values.values()].every((value) => value === 1),
    NOTICED_MS,
  );
  t.ok(seen.size >= 8, 'databases, store, targets and plugins');
  t.strictSame(await prometheus.brokenRules(), []);
  t.strictSame(
    (await prometheus.alerts()).map(({ labels }) => labels.alertname),
    [],
  );
});

t.test('an alert fires when a plugin goes away, says what is wrong, and is over when it is back', async (t) => {
  plugin.closeAllConnections();
  plugin.close();
  const named = async () => (await prometheus.alerts()).filter(({ labels }) => labels.dependency === 'plugin remote');
  const [alert] = await prometheus.until(named, (alerts) => alerts.length > 0, NOTICED_MS);
  t.match(alert, {
    state: 'firing',
    labels: { alertname: 'LongshoreDependencyDown', severity: 'warning', job: 'longshore' },
    annotations: {
      summary: /^plugin remote does not respond to Longshore on 127\.0\.0\.1:\d+; the work that needs it waits\.$/,
    },
  });
  plugin = await listen();
  t.strictSame(await prometheus.until(named, (alerts) => alerts.length === 0, NOTICED_MS), []);
});

/** A plugin server that answers, and no more. */
async function listen(): Promise<Server> {
  const server = createServer((_, response) => response.end('{}')).listen(pluginPort, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
