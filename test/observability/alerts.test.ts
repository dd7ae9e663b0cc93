// The rules of config/deploy/prometheus: sound, and each alert fires when it should and only then.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { ALERT_CASES, type AlertCase, type Series } from './alert-cases.ts';
import { promtool, type Told } from './promtool.ts';
import { DEPLOY, RULE_FILES, RULES, type Rule } from './rules.ts';

const alerts = RULES.filter(({ alert }) => alert !== undefined);
const keyOf = ({ alert, labels }: Rule): string => `${alert} ${labels?.severity}`;
const caseKey = ({ alert, severity }: AlertCase): string => `${alert} ${severity}`;

t.test('promtool finds nothing in the rules and in the example of a configuration', async (t) => {
  for (const [kind, ...files] of [
    ['rules', ...RULE_FILES],
    ['config', join(DEPLOY, 'prometheus', 'prometheus.yaml')],
  ] as const) {
    const { code, text } = await promtool(['check', kind, ...files]);
    t.equal(code, 0, text);
    t.notMatch(text, /FAILED|warning|duplicate/i);
  }
});

t.test('every alert has a severity, says what is wrong and what to do, and is proven here', async (t) => {
  t.strictSame(alerts.map(keyOf).sort(), ALERT_CASES.map(caseKey).sort());
  for (const { alert, labels, annotations } of alerts) {
    t.match(labels?.severity, /^(critical|warning|info)$/, `${alert}`);
    t.strictSame(Object.keys(annotations ?? {}), ['summary', 'action', 'runbook_url'], `${alert}`);
  }
});

for (const one of ALERT_CASES)
  t.test(`${caseKey(one)}: fires when it should, and only then`, async (t) => {
    const rule = alerts.find((candidate) => keyOf(candidate) === caseKey(one));
    const { fires, quiet, alert, severity } = one;
    const exp_labels = { ...fires.labels, severity };
    const action = (rule?.annotations?.action ?? '').replace(
      /\{\{ \$labels\.(\w+) \}\}/g,
      (_, label: string) => fires.labels[label] ?? '',
    );
    const { runbook_url } = rule?.annotations ?? {};
    const fired = { exp_labels, exp_annotations: { summary: fires.summary, action, runbook_url } };
    const firing = await evaluate(t, fires.series, fires.at, alert, [fired]);
    t.equal(firing.code, 0, firing.text);
    for (const { series, at } of [quiet, ...(one.quietToo ? [one.quietToo] : [])]) {
      const silent = await evaluate(t, series, at, alert, []);
      t.equal(silent.code, 0, silent.text);
    }
  });

/** What promtool says of the alert at that time, of all that it expects of it. */
async function evaluate(t: Test, series: Series, at: string, alert: string, exp_alerts: unknown[]): Promise<Told> {
  const file = join(t.testdir(), 'case.yaml');
  const input_series = Object.entries(series).map(([name, values]) => ({ series: name, values }));
  const document = {
    rule_files: RULE_FILES,
    evaluation_interval: '1m',
    group_eval_order: ['longshore-recording', 'longshore-alerts'],
    tests: [{ interval: '1m', input_series, alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts }] }],
  };
  writeFileSync(file, stringify(document));
  return promtool(['test', 'rules', file]);
}
