// What the history keeps of an attempt (engine/ports/job-history.ts): how it ended, and its plugin calls. Texts are bounded, so a
// row has at most 40 KiB. A job that did nothing leaves no row, such as most jobs of a reconciliation.

import type { DatasetId } from '../../engine/model/ids.ts';
import { OUTPUT_BYTES, type ScriptEvidence } from '../../engine/model/script-evidence.ts';
import { firstBytes, lastBytes } from '../../engine/model/utf8.ts';
import type { AttemptCall, AttemptOutcome } from '../../engine/ports/job-history.ts';
import type { ClaimedJob, JobOutcome, RecordedOutcome } from '../../engine/ports/jobs.ts';
import type { Validation } from '../../engine/ports/plugin-client.ts';
import { evidenceOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { allMessages, type TaskRunner } from '../tasks/task-map.ts';

const MESSAGE_BYTES = 2 * 1024;
/** More than an attempt makes on the largest number of targets that is known. */
const MOST_CALLS = 100;

/** The attempts that run in this process. */
export class Attempts {
  readonly #clock: Pick<Clock, 'now'>;
  /** A dataset has at most one attempt at a time, because of its lease. */
  readonly #running = new Map<DatasetId, AttemptCall[]>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Wraps `tasks`: plugin calls are recorded for the attempts that make them. */
  recording(tasks: TaskRunner): TaskRunner {
    const running = this.#running;
    const clock = this.#clock;
    return {
      async run(name, input, options) {
        const calls = 'dataset' in input ? running.get(input.dataset) : undefined;
        if (!calls || !('dataset' in input)) return tasks.run(name, input, options);
        const begun = clock.now();
        const { plugin } = input;
        const about = { call: name, plugin, ...('target' in input ? { target: input.target } : {}) };
        const ended = (outcome: string, said: readonly string[], { exitCode, output }: ScriptEvidence): void => {
          if (calls.length >= MOST_CALLS) return;
          calls.push({
            ...about,
            ...{ ms: clock.now() - begun, outcome },
            ...(said.length === 0 ? {} : { message: firstBytes(said.join('\n'), MESSAGE_BYTES) }),
            ...(exitCode === undefined ? {} : { exitCode }),
            ...(output === undefined ? {} : { output }),
          });
        };
        try {
          const reply = await tasks.run(name, input, options);
          if ('kind' in reply) ended(reply.kind, saidIn(reply), reply as ScriptEvidence);
          return reply;
        } catch (error) {
          ended('error', [messageOf(error)], evidenceOf(error));
          throw error;
        }
      },
    };
  }

  begin(job: ClaimedJob): RunningAttempt {
    const calls: AttemptCall[] = [];
    const begun = this.#clock.now();
    this.#running.set(job.dataset, calls);
    return {
      end: (outcome, { as, message } = {}) => {
        if (this.#running.get(job.dataset) === calls) this.#running.delete(job.dataset);
        if (didNothing(outcome) && calls.length === 0) return outcome;
        const reason = message ?? reasonOf(outcome);
        const record = {
          outcome: as ?? attemptOutcome(outcome),
          attempt: job.attempts + 1,
          ms: this.#clock.now() - begun,
          ...(reason === undefined ? {} : { message: firstBytes(reason, MESSAGE_BYTES) }),
          ...(calls.length > 0 ? { calls: bounded(calls) } : {}),
        };
        return { ...outcome, record };
      },
    };
  }
}

export interface RunningAttempt {
  /** Call it once. @param more what the outcome does not say */
  end(outcome: JobOutcome, more?: { readonly as?: AttemptOutcome; readonly message?: string }): RecordedOutcome;
}

const UNRECORDED: RunningAttempt = { end: (outcome) => outcome };

/** Without `attempts`, nothing is recorded. */
export const beginAttempt = (job: ClaimedJob, attempts: Attempts | undefined): RunningAttempt =>
  attempts?.begin(job) ?? UNRECORDED;

const didNothing = (outcome: JobOutcome): boolean =>
  (outcome.kind === 'done' && outcome.did === undefined) || (outcome.kind === 'retry' && outcome.idle === true);

const reasonOf = (outcome: JobOutcome): string | undefined =>
  'message' in outcome ? outcome.message : outcome.kind === 'done' ? outcome.did : undefined;

const attemptOutcome = (outcome: JobOutcome): AttemptOutcome =>
  outcome.kind === 'requeue' ? (outcome.crashed ? 'crashed' : 'returned') : outcome.kind;

/** What the script said to the owner, or what is wrong with the plugin. */
function saidIn(reply: object): readonly string[] {
  if ('validation' in reply) return allMessages(reply.validation as Validation);
  if ('messages' in reply) return reply.messages as readonly string[];
  return 'message' in reply ? [String(reply.message)] : [];
}

/** All calls of an attempt share the bytes that the history has for their texts. */
function bounded(calls: readonly AttemptCall[]): readonly AttemptCall[] {
  let [messages, outputs] = [OUTPUT_BYTES, OUTPUT_BYTES];
  return calls.map(({ message, output, ...call }) => {
    const said = message === undefined ? {} : { message: firstBytes(message, messages) };
    const printed = output === undefined ? {} : { output: lastBytes(output, outputs) };
    messages -= Buffer.byteLength(said.message ?? '');
    outputs -= Buffer.byteLength(printed.output ?? '');
    return { ...call, ...said, ...printed };
  });
}
