// The files of `config/deploy` that speak of metrics, read.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export const DEPLOY = join(import.meta.dirname, '..', '..', 'config', 'deploy');
export const RULE_FILES = ['recording', 'alerts'].map((name) => join(DEPLOY, 'prometheus', `${name}.rules.yaml`));

export const rulesOf = (file: string): readonly Rule[] => {
  const { groups } = parse(readFileSync(file, 'utf8')) as { readonly groups: readonly { readonly rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
};

export const RULES: readonly Rule[] = RULE_FILES.flatMap(rulesOf);
