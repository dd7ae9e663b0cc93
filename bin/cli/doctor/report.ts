// Formats the findings of `longshore doctor`, for people and for programs.

import { VERSION } from '../version.ts';
import type { Diagnosis } from './run-checks.ts';

const SHOWN = { ok: 'ok', warning: 'warning', failed: 'FAILED' } as const;
const STATUS_WIDTH = 7;

/** One line per check; below it each problem and how to fix it. */
export function reportText(diagnoses: readonly Diagnosis[]): string {
  const width = (of: (one: Diagnosis) => string): number => Math.max(0, ...diagnoses.map((one) => of(one).length));
  const [names, places] = [width(({ name }) => name), width(({ where }) => where)];
  const took = ({ tookMs }: Diagnosis): string => `${tookMs} ms`;
  const times = width(took);
  const blocks = diagnoses.map((one) => {
    const { name, where, status, tried, says, problems } = one;
    const columns = [
      SHOWN[status].padEnd(STATUS_WIDTH),
      name.padEnd(names),
      where.padEnd(places),
      took(one).padStart(times),
    ];
    const line = [...columns, says === undefined || says === '' ? tried : `${tried}: ${says}`].join('  ');
    const below = problems.map(({ problem, fix }) => `  problem: ${problem}\n  fix:     ${fix}\n`);
    return `${line}\n${below.join('')}`;
  });
  return `${blocks.join('')}${summary(diagnoses)}\n`;
}

/** A single JSON document. */
export function reportJson(diagnoses: readonly Diagnosis[]): string {
  return `${JSON.stringify({ version: VERSION, ok: isWell(diagnoses), dependencies: diagnoses }, null, 2)}\n`;
}

/** Warnings do not fail the doctor. */
export const isWell = (diagnoses: readonly Diagnosis[]): boolean =>
  diagnoses.every(({ status }) => status !== 'failed');

function summary(diagnoses: readonly Diagnosis[]): string {
  const count = (status: Diagnosis['status']): number => diagnoses.filter((one) => one.status === status).length;
  const parts = [`${count('ok')} ok`, `${count('warning')} with a warning`, `${count('failed')} failed`];
  return `${diagnoses.length} checked: ${parts.join(', ')}`;
}
