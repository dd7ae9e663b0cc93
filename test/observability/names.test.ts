// Every metric and label that the rules and the dashboard ask for is one that the program has: the table of docs/metrics.md is
// compared with the program's registry by test/metrics-table.test.ts, and with a running program by live.test.ts.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { readMetricsTable } from '../support/metrics-table.ts';
import { dashboard, dashboardExpressions } from './dashboard.ts';
import { groupingsIn, mentionsIn } from './metric-names.ts';
import { promtool } from './promtool.ts';
import { RULES } from './rules.ts';

const METRICS = join(import.meta.dirname, '..', '..', 'docs', 'metrics.md');
/** Every series has these once it is scraped. */
const OF_THE_SCRAPE = ['job', 'instance'];
/** Made by Prometheus. */
const OF_PROMETHEUS = new Map([
  ['up', OF_THE_SCRAPE],
  ['ALERTS', ['alertname', 'alertstate']],
]);

const labelsOf = new Map<string, readonly string[]>(OF_PROMETHEUS);
for (const { name, type, labels } of readMetricsTable(readFileSync(METRICS, 'utf8')).rows) {
  const own = [...labels, ...OF_THE_SCRAPE];
  if (type !== 'histogram') labelsOf.set(name, own);
  else {
    labelsOf.set(`${name}_bucket`, [...own, 'le']);
    for (const part of ['sum', 'count']) labelsOf.set(`${name}_${part}`, own);
  }
}
// A recorded series has the labels that its expression groups by, or all of them.
for (const { record, expr } of RULES) {
  if (record === undefined) continue;
  const grouped = groupingsIn(expr).filter((label) => label !== 'le');
  labelsOf.set(
    record,
    grouped.length > 0 ? grouped : mentionsIn(expr).flatMap(({ metric }) => labelsOf.get(metric) ?? []),
  );
}

const expressions = [...RULES.map(({ expr }) => expr), ...dashboardExpressions()];

t.test('they ask for no metric and for no label that does not exist', async (t) => {
  const wrong = expressions.flatMap((expression) => [
    ...mentionsIn(expression).flatMap(({ metric, labels }) => {
      const known = labelsOf.get(metric);
      if (!known) return [`no metric ${metric}: ${expression}`];
      return labels.filter((label) => !known.includes(label)).map((label) => `no ${metric}{${label}}: ${expression}`);
    }),
    ...groupingsIn(expression)
      .filter((label) => !mentionsIn(expression).some(({ metric }) => labelsOf.get(metric)?.includes(label)))
      .map((label) => `nothing has the label ${label}: ${expression}`),
  ]);
  t.strictSame(wrong, []);
});

t.test('what is recorded is used', async (t) => {
  const used = new Set(expressions.flatMap((expression) => mentionsIn(expression).map(({ metric }) => metric)));
  t.strictSame(
    RULES.flatMap(({ record }) => (record === undefined || used.has(record) ? [] : [record])),
    [],
  );
});

t.test('promtool takes every expression of the dashboard', async (t) => {
  const file = join(t.testdir(), 'dashboard.yaml');
  const rules = dashboardExpressions().map((expr, n) => ({ record: `panel:${n}`, expr: filledIn(expr) }));
  t.ok(rules.length > 30);
  writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
  const { code, text } = await promtool(['check', 'rules', file]);
  t.equal(code, 0, text);
});

t.test('names and labels are found in an expression, and nothing else is', async (t) => {
  const expression =
    'sum by (lane, le) (rate(a_total{state=~"x, y=\\"z\\"", lane!="b"}[5m])) / on (lane) r:a:b > bool 1e3 unless c offset 5m';
  t.strictSame(mentionsIn(expression), [
    { metric: 'a_total', labels: ['state', 'lane'] },
    { metric: 'r:a:b', labels: [] },
    { metric: 'c', labels: [] },
  ]);
  t.strictSame(groupingsIn(expression), ['lane', 'le', 'lane']);
});

t.test('the panels of the dashboard stand beside each other, under ids of their own', async (t) => {
  const { panels } = dashboard();
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
  );
  t.equal(new Set(cells).size, cells.length);
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  t.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24));
});

/** With Grafana's variables replaced as Grafana does. */
function filledIn(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)\b/g, '.+');
}
