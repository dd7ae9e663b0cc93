// The dashboard of config/deploy/grafana, read.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEPLOY } from './rules.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

export interface Dashboard {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr?: string }[] };
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

export const dashboard = (): Dashboard =>
  JSON.parse(readFileSync(join(DEPLOY, 'grafana', 'longshore.json'), 'utf8')) as Dashboard;

/** What it asks for: of panels, annotations and variables. */
export function dashboardExpressions(): readonly string[] {
  const { panels, annotations, templating } = dashboard();
  return [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...annotations.list.flatMap(({ expr }) => (expr === undefined ? [] : [expr])),
    // label_values(METRIC, LABEL) is a word of Grafana's.
    ...templating.list.flatMap(({ definition = '' }) => {
      const [, metric, label] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? [];
      return metric === undefined ? [] : [`count by (${label}) (${metric})`];
    }),
  ];
}
