// Runs checks concurrently, each with a deadline, and returns the outcome of each.

import { Failure, messageOf, transient } from '../../../engine/runtime/failure.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import { VERSION } from '../version.ts';
import { type Check, codeOf, type Findings, fault, type Problem } from './check.ts';

export interface Diagnosis {
  readonly name: string;
  readonly where: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly tookMs: number;
  readonly tried: string;
  readonly says?: string;
  readonly problems: readonly Problem[];
}

const LOOK_MS = 10_000;

/** Results are in the order of the checks. Rejects with the signal's reason when it aborts. */
export function runChecks(checks: readonly Check[], clock: Clock, signal: AbortSignal): Promise<readonly Diagnosis[]> {
  return Promise.all(checks.map((check) => diagnose(check, clock, signal)));
}

async function diagnose(check: Check, clock: Clock, signal: AbortSignal): Promise<Diagnosis> {
  const { name, tried } = check;
  const began = clock.now();
  const { where = check.where, says, problems } = await findings(check, clock, signal);
  const failed = problems.some(({ severity }) => severity === 'fault');
  return {
    name,
    where,
    status: failed ? 'failed' : problems.length > 0 ? 'warning' : 'ok',
    tookMs: Math.round(clock.now() - began),
    tried,
    ...(says === undefined ? {} : { says }),
    problems,
  };
}

async function findings(check: Check, clock: Clock, signal: AbortSignal): Promise<Findings> {
  const late = transient(`no response within ${LOOK_MS / 1000} s`, { unreachable: true });
  using limit = deadline(clock, LOOK_MS, signal, () => late);
  try {
    return await unlessAborted(check.look(limit.signal), limit.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error === late)
      return {
        problems: [
          fault(
            late.message,
            'it hangs, is overloaded, or a firewall drops packets: try to connect to it from this machine',
          ),
        ],
      };
    return { problems: [fault(wordsOf(error), check.explain(error))] };
  }
}

/** The message of our own failures. Of other errors, whose message may contain a URL with a password, only name and code. */
function wordsOf(error: unknown): string {
  if (error instanceof Failure) return messageOf(error);
  const code = codeOf(error);
  const name = error instanceof Error ? error.name : 'unknown';
  return `the check failed (${code === undefined ? name : code})`;
}

// Formats the findings of `longshore doctor`, for people and for programs.

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
