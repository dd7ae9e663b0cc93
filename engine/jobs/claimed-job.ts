// A claimed job while its lane holds it, and which of those that wait is the next to run.

import type { Turns } from '../runtime/fair-share.ts';
import type { Mailbox } from './mailbox.ts';

export interface Claimed<Job> {
  readonly job: Job;
  readonly at: number;
}

export interface Running<Job> {
  readonly job: Job;
  readonly claimedAt: number;
  readonly controller: AbortController;
  /** A duplicate: the same job, claimed again after its lease was lost. It starts when this attempt has ended. */
  next?: Claimed<Job>;
}

/** Takes a job from the mailbox: of the tenant whose turn it is, or the oldest when all jobs are alike. */
export function takeNext<Job>(
  waiting: Mailbox<Claimed<Job>>,
  running: Iterable<Running<Job>>,
  turns: Turns,
  tenantOf: ((job: Job) => string) | undefined,
): Claimed<Job> | undefined {
  if (!tenantOf || waiting.size < 2) return waiting.poll();
  const counts = new Map<string, number>();
  for (const { job } of running) counts.set(tenantOf(job), (counts.get(tenantOf(job)) ?? 0) + 1);
  return waiting.pollLowest(({ job }) => turns.rankOf(tenantOf(job), counts.get(tenantOf(job)) ?? 0));
}

export const withDuplicates = <Job>(running: Iterable<Running<Job>>): readonly { readonly job: Job }[] =>
  [...running].flatMap((one) => (one.next ? [one, one.next] : [one]));

/** The duplicates, which do not start any more. */
export function takeDuplicates<Job>(running: Iterable<Running<Job>>): readonly Claimed<Job>[] {
  const taken: Claimed<Job>[] = [];
  for (const one of running) {
    if (one.next) taken.push(one.next);
    delete one.next;
  }
  return taken;
}
