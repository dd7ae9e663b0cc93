// One step of an install: one kind (meta or data) on one target. It has its own attempts and its own next time, so targets fail
// and recover independently. The target's control DB holds the status and the cache mirrors it. A final status is mirrored
// after the control DB has it. An intermediate status is mirrored together with the attempt, in one write.
//
//   due --running--> complete | failed-validation | missing-dependency | failed-installation   (over)
//                 -> queued 'attempt n of 12: reason'                                              (waiting)
//   `running` without a lease was left by an attempt that crashed: due again, for data after an uninstall.
//   If the first call did not reach the plugin, nothing has begun: its marks (`started`, `running`) are removed,
//   and no uninstall is needed.
//
// Each side has one write per status: rows and other statuses that belong to a status are written together with it. The cache
// says that a step has begun before the target has rows of it, and both say so before the plugin is called. So a target without
// a row never had a call.
//
// The first install on a target that has nothing of the dataset is marked on several targets at once in the cache, and then on
// each target, in the statement that finds that there is nothing. Where metadata follow data, the end of the data and the
// beginning of the metadata are one write on each side. A mark of metadata makes nothing due but the step itself, so the target
// may have it before the cache.

import type { InstallKind, InstallStatus } from '../../engine/model/status.ts';
import type { Catalog, CatalogChange, InstallAttempt, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlDocument, ControlMessage, InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobFault } from '../../engine/ports/jobs.ts';
import type { InstallReply } from '../../engine/ports/plugin-client.ts';
import { evidenceOf, Failure, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { outcomeText, ownerText } from '../../engine/runtime/owner-text.ts';
import type { RetryPolicy } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { linesOf } from '../dataset/site-targets.ts';
import { decideOutcome } from '../jobs/job-handler.ts';
import { Paused } from '../pauses/paused-work.ts';
import { type Answer, answerOf, faultOf } from './install-answer.ts';

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
  /** Stored with a final status: the version that the status applies to. */
  readonly version: ObjectVersion;
  readonly attempt: InstallAttempt | undefined;
  /**
   * Something may be installed on the target already. False: a call that does not reach the plugin leaves nothing to remove.
   * Undefined: the target did not answer, and is not called.
   */
  readonly begun: boolean | undefined;
  /** Written with `running`. */
  readonly begin?: StepWrite;
  call(signal: AbortSignal): Promise<InstallReply>;
  /** Written with the final status. */
  end?(status: InstallStatus): StepWrite;
  /** The step that begins when this one is complete: its marks are written with the final status. Run it next, as begun. */
  readonly next?: Step | undefined;
}

/** What is written with a status of a step. */
interface StepWrite {
  /** The rows that the status needs. */
  readonly document?: ControlDocument;
  /** The new status of the other kind on the same target. */
  readonly other?: InstallStatus;
}

export type StepResult =
  /** `fault`: why the step failed, if it did so in this attempt. */
  | { readonly kind: 'over'; readonly status: InstallStatus; readonly fault?: JobFault | undefined }
  /** Not due before this time, in milliseconds since 1970. `why` is for operators. */
  | { readonly kind: 'waiting'; readonly untilMs: number; readonly why?: string };

const RUNNING: Answer = { status: 'running', messages: [] };

/** @param marked both sides say that the step has begun */
export async function runStep(
  job: ClaimedJob,
  step: Step,
  policy: RetryPolicy,
  ports: StepPorts,
  signal: AbortSignal,
  marked = false,
): Promise<StepResult> {
  const attempt = attemptOf(step);
  const untilMs = waitsUntil(attempt, ports);
  if (untilMs !== undefined) return { kind: 'waiting', untilMs };
  let started = attempt.started || marked;
  let called: 'no' | 'yes' | 'answered' = 'no';
  let answer: Answer;
  try {
    if (!marked) {
      await ports.catalog.write(job.dataset, job.lease, [...marksOf(step), ...othersOf(step, step.begin)], signal);
      started = true;
      await writeControl(job, step, RUNNING, signal, step.begin);
    }
    called = 'yes';
    answer = answerOf(await step.call(signal), step);
    called = 'answered';
    await writeControl(job, step, answer, signal, endOf(step, answer), step.version);
  } catch (error) {
    if (kindOf(error) === 'aborted' || signal.aborted) throw error;
    // Once the plugin has answered, the data are installed, and any later unreachable error is about something else.
    const nobody = called === 'yes' && error instanceof Failure && error.unreachable;
    const untouched = !step.begun && (called === 'no' || nobody);
    return postpone(job, step, { ...attempt, started: started && !untouched }, error, policy, ports, signal);
  }
  // The control DB has the status, so the step does not fail if the rest cannot be written: the next attempt writes it.
  await close(job, step, answer, ports, signal);
  const { status, fault } = answer;
  if (fault?.kind === 'failed')
    ports.log.warn({ ...aboutStep(job, step), reason: fault.message, exitCode: fault.exitCode }, 'install step failed');
  return { kind: 'over', status, fault };
}

/** The step cannot begin, because its target does not answer. */
export async function failStep(
  job: ClaimedJob,
  step: Step,
  error: unknown,
  policy: RetryPolicy,
  ports: StepPorts,
  signal: AbortSignal,
): Promise<StepResult> {
  // A pause is not a failure of the step. When it ends, the job is due at once.
  if (error instanceof Paused)
    return { kind: 'waiting', untilMs: ports.clock.now() + policy.maxMs, why: messageOf(error) };
  const attempt = attemptOf(step);
  const untilMs = waitsUntil(attempt, ports);
  if (untilMs !== undefined) return { kind: 'waiting', untilMs };
  if (kindOf(error) === 'aborted' || signal.aborted) throw error;
  return postpone(job, step, attempt, error, policy, ports, signal);
}

/** The step failed without a result for the dataset: it is retried later, or given up after the last attempt. */
async function postpone(
  job: ClaimedJob,
  step: Step,
  attempt: InstallAttempt,
  error: unknown,
  policy: RetryPolicy,
  ports: StepPorts,
  signal: AbortSignal,
): Promise<StepResult> {
  const outcome = decideOutcome(error, attempt, policy, ports.random);
  const reason = ownerText(error);
  ports.log.warn({ ...aboutStep(job, step), err: error }, 'install step failed');
  let wait = { delayMs: policy.maxMs, attempts: attempt.attempts };
  if (outcome.kind === 'retry')
    wait = { delayMs: outcome.delayMs, attempts: attempt.attempts + (outcome.countsAttempt ? 1 : 0) };
  else if (await giveUp(job, step, reason, ports, signal))
    return {
      kind: 'over',
      status: 'failed-installation',
      fault: faultOf('failed', step, messageOf(error), evidenceOf(error)),
    };
  const untilMs = ports.clock.now() + wait.delayMs;
  const waiting = { ...attempt, attempts: wait.attempts, notBefore: new Date(untilMs) };
  const queued = { status: 'queued', messages: [outcome.kind === 'retry' ? outcomeText(outcome) : reason] } as const;
  const mirrored = mirrorOf(step, queued);
  const { target, kind } = step;
  // Remove the marks on the target first: a mark that is left after a crash says that something may have begun.
  if (!attempt.started && step.begun === false)
    await unlessAway(() => target.removeMessage(job.dataset, kind, job.lease.token, signal));
  await ports.catalog.write(job.dataset, job.lease, [{ set: 'attempt', ...waiting }, mirrored], signal);
  if (attempt.started || step.begun) await unlessAway(() => writeControl(job, step, queued, signal));
  return { kind: 'waiting', untilMs, why: `${kind} on ${target.id}: ${messageOf(error)}` };
}

/** False when the target does not answer: the step then waits for it without limit, because giving up would stay unseen. */
async function giveUp(
  job: ClaimedJob,
  step: Step,
  reason: string,
  ports: StepPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = { status: 'failed-installation', messages: [reason] } as const;
  try {
    await writeControl(job, step, answer, signal, {}, step.version);
  } catch (error) {
    if (kindOf(error) === 'aborted') throw error;
    if (kindOf(error) === 'transient') return false;
    // For example, the target rejects the dataset's rows: only the mirror can tell the owner.
  }
  await close(job, step, answer, ports, signal);
  return true;
}

/** The mirror has the status or will have it. A target that does not answer gets it with the next attempt. */
async function unlessAway(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (kindOf(error) === 'aborted') throw error;
  }
}

async function writeControl(
  job: ClaimedJob,
  step: Step,
  { status, messages }: Answer,
  signal: AbortSignal,
  { document, other }: StepWrite = {},
  version?: ObjectVersion,
): Promise<void> {
  const message = messages.length > 0 ? { message: messages.join('\n') } : {};
  const own: ControlMessage = { status, ...message, ...(version ? { version } : {}) };
  const written = { [step.kind]: own, ...(other ? { [otherKind(step)]: { status: other } } : {}) };
  const change = { ...(document ? { document } : {}), messages: written };
  await step.target.write(job.dataset, change, job.lease.token, signal);
}

const otherKind = ({ kind }: Step): InstallKind => (kind === 'data' ? 'meta' : 'data');

/** The next step's status is written with this one's. */
function endOf(step: Step, { status }: Answer): StepWrite {
  const next: StepWrite = status === 'complete' && step.next ? { other: RUNNING.status } : {};
  return { ...step.end?.(status), ...next };
}

function mirrorOf({ target, kind }: Pick<Step, 'target' | 'kind'>, { status, messages }: Answer): CatalogChange {
  return { set: 'install', target: target.id, kind, status, messages: linesOf(messages) };
}

/** In the cache: the step has begun. */
export const marksOf = (step: Pick<Step, 'target' | 'kind' | 'attempt'>): readonly CatalogChange[] => [
  { set: 'attempt', ...attemptOf(step), notBefore: undefined, started: true },
  mirrorOf(step, RUNNING),
];

function othersOf(step: Step, { other }: StepWrite = {}): readonly CatalogChange[] {
  return other ? [mirrorOf({ target: step.target, kind: otherKind(step) }, { status: other, messages: [] })] : [];
}

/** Finishes a step with a final answer, which the control DB has or cannot store. */
async function close(
  job: ClaimedJob,
  step: Step,
  answer: Answer,
  ports: StepPorts,
  signal: AbortSignal,
): Promise<void> {
  const over = { set: 'attemptOver', target: step.target.id, kind: step.kind } as const;
  const next = answer.status === 'complete' && step.next ? marksOf(step.next) : [];
  await ports.catalog.write(job.dataset, job.lease, [mirrorOf(step, answer), over, ...next], signal);
}

const aboutStep = ({ dataset, eventId: event }: ClaimedJob, { target, plugin, kind }: Step) => ({
  ...{ dataset, event, target: target.id, plugin, kind },
});

function attemptOf(step: Pick<Step, 'target' | 'kind' | 'attempt'>): InstallAttempt {
  return step.attempt ?? { target: step.target.id, kind: step.kind, attempts: 0, notBefore: undefined, started: false };
}

/** Undefined when the step is due. */
function waitsUntil({ notBefore }: InstallAttempt, { clock }: StepPorts): number | undefined {
  const untilMs = notBefore?.getTime() ?? 0;
  return untilMs > clock.now() ? untilMs : undefined;
}
