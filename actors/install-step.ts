// One step of an install: one kind (meta or data) on one target, with its own tries and next time, so that targets
// fail and recover independently. The target's control DB holds the status; the cache mirrors it.
//
//   due --running--> complete | failed-validation | missing-dependency | failed-installation   (over)
//                 -> queued 'try n of 12: reason'                                              (waiting)
//   `running` without a lease was left by a run that died: due again, after an uninstall for data.

import { kindOf, messageOf } from '../engine/failure.ts';
import type { Logger } from '../engine/log.ts';
import type { InstallKind, InstallStatus } from '../engine/model/status.ts';
import type { Catalog, InstallAttempt, ObjectVersion } from '../engine/ports/catalog.ts';
import type { InstallTarget } from '../engine/ports/install-target.ts';
import type { ClaimedJob } from '../engine/ports/jobs.ts';
import type { InstallReply } from '../engine/ports/plugin-client.ts';
import type { RetryPolicy } from '../engine/retry.ts';
import type { Clock } from '../engine/time.ts';
import { decideOutcome, retryMessage } from './job-outcome.ts';
import { pluginServerError } from './plugin-server-error.ts';
import { allMessages } from './tasks/task-map.ts';

export interface StepPorts {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

export interface Step {
  readonly target: InstallTarget;
  readonly kind: InstallKind;
  readonly plugin: string;
  /** Stored with a final status: the version that the status speaks of. */
  readonly version: ObjectVersion;
  readonly attempt: InstallAttempt | undefined;
  /** Before the status turns `running`: rows that the status needs. */
  prepare(signal: AbortSignal): Promise<void>;
  call(signal: AbortSignal): Promise<InstallReply>;
  /** After a final reply and before its status is written. */
  conclude?(status: InstallStatus, signal: AbortSignal): Promise<void>;
}

export type StepResult =
  | { readonly kind: 'over'; readonly status: InstallStatus }
  /** Not before this time, in milliseconds since 1970. */
  | { readonly kind: 'waiting'; readonly untilMs: number };

export async function runStep(
  job: ClaimedJob,
  step: Step,
  policy: RetryPolicy,
  ports: StepPorts,
  signal: AbortSignal,
): Promise<StepResult> {
  const notBefore = step.attempt?.notBefore?.getTime() ?? 0;
  if (notBefore > ports.clock.now()) return { kind: 'waiting', untilMs: notBefore };
  try {
    return await attemptStep(job, step, ports, signal);
  } catch (error) {
    if (kindOf(error) === 'aborted' || signal.aborted) throw error;
    return postpone(job, step, error, policy, ports, signal);
  }
}

async function attemptStep(job: ClaimedJob, step: Step, ports: StepPorts, signal: AbortSignal): Promise<StepResult> {
  await step.prepare(signal);
  await ports.catalog.writeAttempt(
    job.dataset,
    job.lease,
    { ...attemptOf(step), notBefore: undefined, started: true },
    signal,
  );
  await writeStatus(job, step, 'running', [], ports, signal);
  const reply = await step.call(signal);
  const { status, messages } = statusOf(reply, step.plugin);
  await step.conclude?.(status, signal);
  await finish(job, step, status, messages, ports, signal);
  return { kind: 'over', status };
}

/** The step failed in a way that is no answer about the dataset: later again, or given up after the last try. */
async function postpone(
  job: ClaimedJob,
  step: Step,
  error: unknown,
  policy: RetryPolicy,
  ports: StepPorts,
  signal: AbortSignal,
): Promise<StepResult> {
  const attempt = attemptOf(step);
  const outcome = decideOutcome(error, attempt, policy, ports.random);
  const reason = messageOf(error);
  ports.log.warn(
    {
      dataset: job.dataset,
      event: job.eventId,
      target: step.target.id,
      plugin: step.plugin,
      kind: step.kind,
      err: error,
    },
    'install step failed',
  );
  if (outcome.kind !== 'retry') {
    await finish(job, step, 'failed-installation', [reason], ports, signal);
    return { kind: 'over', status: 'failed-installation' };
  }
  const untilMs = ports.clock.now() + outcome.delayMs;
  const tries = attempt.tries + (outcome.countTry ? 1 : 0);
  await ports.catalog.writeAttempt(
    job.dataset,
    job.lease,
    { ...attempt, tries, notBefore: new Date(untilMs), started: true },
    signal,
  );
  await writeStatus(job, step, 'queued', [retryMessage(attempt, policy, reason)], ports, signal);
  return { kind: 'waiting', untilMs };
}

async function finish(
  job: ClaimedJob,
  step: Step,
  status: InstallStatus,
  messages: readonly string[],
  ports: StepPorts,
  signal: AbortSignal,
): Promise<void> {
  await writeStatus(job, step, status, messages, ports, signal, step.version);
  const over = { target: step.target.id, kind: step.kind, over: true } as const;
  await ports.catalog.writeAttempt(job.dataset, job.lease, over, signal);
}

/**
 * Control DB first, mirror second. The mirror alone is written when the target does not answer, so that the owner
 * sees why nothing moves; the control DB follows with the next try.
 */
async function writeStatus(
  job: ClaimedJob,
  step: Step,
  status: InstallStatus,
  messages: readonly string[],
  ports: StepPorts,
  signal: AbortSignal,
  version?: ObjectVersion,
): Promise<void> {
  try {
    await step.target.writeMessage(
      job.dataset,
      step.kind,
      { status, ...(messages.length > 0 ? { message: messages.join('\n') } : {}), ...(version ? { version } : {}) },
      job.lease.token,
      signal,
    );
  } catch (error) {
    if (status !== 'queued' || kindOf(error) === 'aborted') throw error;
  }
  await ports.catalog.write(
    job.dataset,
    job.lease,
    [{ set: 'install', target: step.target.id, kind: step.kind, status, messages }],
    signal,
  );
}

function statusOf(reply: InstallReply, plugin: string): { status: InstallStatus; messages: readonly string[] } {
  switch (reply.kind) {
    case 'success':
      return { status: 'complete', messages: allMessages(reply.validation) };
    case 'invalid':
      return { status: 'failed-validation', messages: allMessages(reply.validation) };
    case 'missing-dependency':
      return { status: 'missing-dependency', messages: reply.messages };
    case 'script-error':
      return { status: 'failed-installation', messages: [reply.message] };
    case 'server-error':
      throw pluginServerError(plugin, reply.message);
    default:
      return reply satisfies never;
  }
}

function attemptOf(step: Step): InstallAttempt {
  return step.attempt ?? { target: step.target.id, kind: step.kind, tries: 0, notBefore: undefined, started: false };
}
