// What may be asked for many times happens once.

import type { PromiseRow } from '../promises.ts';

export const EFFECTS: readonly PromiseRow[] = [
  {
    id: 'events-coalesce',
    promise: 'Repeated events make one job, and an event that arrives while the job runs makes it run again.',
    heldBy: [
      { file: 'test/conformance/jobs.ts', test: 'events of a waiting job coalesce into the newest' },
      { file: 'test/conformance/jobs.ts', test: 'an event that comes while the job runs runs it again' },
    ],
  },
  {
    id: 'installed-once',
    promise: 'A dataset is installed once on each target, however often it is requested.',
    heldBy: [
      {
        file: 'test/actors/lanes/install-lane.test.ts',
        test: 'a complete dataset is not installed again by a repeated event',
      },
      {
        file: 'test/actors/lanes/install-lane.test.ts',
        test: 'an install that a crash cut off is taken back before it begins anew',
      },
      { file: 'test/e2e/install-retry.test.ts', test: 'an install that was killed after its work is not doubled, …' },
    ],
  },
  {
    id: 'claimed-once',
    promise: 'One process at a time holds a job.',
    heldBy: [
      { file: 'test/conformance/jobs.ts', test: '5,001 jobs are claimed exactly once by two processes' },
      {
        file: 'test/engine/adapters/jobs/complete-and-fetch.test.ts',
        test: 'of the jobs that two processes claim at once each has its lease with the same',
      },
    ],
  },
  {
    id: 'one-job-per-dataset',
    promise: 'One job at a time works on a dataset, over all processes.',
    heldBy: [
      {
        file: 'test/conformance/jobs.ts',
        test: 'jobs of one dataset are claimed one at a time in the order of the lanes',
      },
      { file: 'test/conformance/jobs.ts', test: 'of two processes that race for a dataset one gets it' },
      { file: 'test/conformance/leases.ts', test: 'of many who try at once one gets it' },
    ],
  },
  {
    id: 'lease-fences',
    promise:
      'A process that lost the lease of a dataset writes nothing more about it: every write carries a fencing token.',
    heldBy: [
      {
        file: 'test/conformance/catalog.ts',
        test: 'refuses every write once another holder took the lease, and changes nothing',
      },
      {
        file: 'test/conformance/install-target.ts',
        test: 'a lower token than the last is refused and changes nothing',
      },
      {
        file: 'test/conformance/job-outcomes.ts',
        test: 'a job whose lease expired is claimed by another process, and its first holder is fenced off',
      },
    ],
  },
  {
    id: 'lease-tokens-grow',
    promise: 'Fencing tokens only grow, even after the cache database was lost.',
    heldBy: [
      { file: 'test/conformance/leases.ts', test: 'tokens only grow, by one, also after a release' },
      {
        file: 'test/engine/adapters/postgres/leases.test.ts',
        test: 'tokens that the cache gives after it was lost are beyond those that it gave before',
      },
    ],
  },
  {
    id: 'lease-lost-stops',
    promise: 'A job stops before its lease can expire; a suspended process stops its jobs first when it resumes.',
    heldBy: [
      {
        file: 'test/actors/jobs/lease-renewer.test.ts',
        test: 'jobs are stopped before their leases run out when these cannot be renewed',
      },
      {
        file: 'test/actors/jobs/lease-renewer.test.ts',
        test: 'a process that stood still stops what it held before it asks for anything',
      },
      {
        file: 'test/actors/topology.test.ts',
        test: 'a job whose lease another process took is stopped, and its answer counts for nothing',
      },
    ],
  },
  {
    id: 'one-leader',
    promise: 'One process at a time runs a daemon, and another takes over when it ends.',
    heldBy: [
      {
        file: 'test/actors/daemons/leadership.test.ts',
        test: 'one of several processes runs the router; when it ends another takes over within seconds',
      },
      {
        file: 'test/actors/daemons/leadership.test.ts',
        test: 'a lead that cannot be renewed for 25 s is lost, before its lease runs out',
      },
      { file: 'test/actors/daemons/leadership.test.ts', test: 'the lead of a process that died is free at once' },
    ],
  },
  {
    id: 'edits-not-lost',
    promise: 'When two edits of a dataset arrive at the same time, both are kept.',
    heldBy: [
      { file: 'test/http/installer/patch.test.ts', test: 'two patches at once both survive' },
      {
        file: 'test/conformance/dataset-edits.ts',
        test: 'edits of one dataset never mix: each sees what the one before it wrote',
      },
    ],
  },
  {
    id: 'if-match',
    promise: 'A change with If-Match applies to that version only.',
    heldBy: [
      {
        file: 'test/http/installer/patch.test.ts',
        test: 'of two patches that name the same version, one is refused',
      },
      { file: 'test/http/access/end-users.test.ts', test: 'If-Match: only the version that is meant is changed' },
    ],
  },
  {
    id: 'revision-numbers',
    promise: 'Of two revisions at the same time one succeeds, and no revision number is used twice.',
    heldBy: [
      { file: 'test/http/installer/revise-conflicts.test.ts', test: 'of two revisions at once, one is made' },
      { file: 'test/http/installer/revise-conflicts.test.ts', test: 'numbers are never given twice' },
    ],
  },
  {
    id: 'mail-once',
    promise:
      'A mail is queued with its change and sent once; only a kill during sending repeats it, under the same id.',
    heldBy: [
      {
        file: 'test/actors/daemons/access-mail.test.ts',
        test: 'a change that is refused queues nothing, one that is made queues its mails with it',
      },
      { file: 'test/actors/daemons/access-mail.test.ts', test: 'two processes send each mail once' },
      {
        file: 'test/actors/daemons/access-mail.test.ts',
        test: 'the mail of a process that died while it sent comes again with the same Message-ID',
      },
    ],
  },
  {
    id: 'report-one-run',
    promise: 'Identical report requests are one job and one run, whoever makes them.',
    heldBy: [
      {
        file: 'test/http/report/create.test.ts',
        test: 'fifty identical requests at once, of many callers, are one job',
      },
      { file: 'test/conformance/report-queue.ts', test: 'processes that claim at once get different jobs' },
    ],
  },
];
