// How things start and stop.

import type { PromiseRow } from '../promises.ts';

export const SHUTDOWN: readonly PromiseRow[] = [
  {
    id: 'lifecycle',
    promise: 'Actors can be started, quieted, stopped and killed in any order, any number of times.',
    heldBy: [
      {
        file: 'test/engine/runtime/actor.test.ts',
        test: '… may be started, quieted, stopped and killed in any order, any number of times',
      },
    ],
  },
  {
    id: 'shutdown-order',
    promise:
      'On SIGTERM, readiness turns 503, new work is refused, running work gets a grace period, and the process ends.',
    heldBy: [
      {
        file: 'test/engine/runtime/shutdown.test.ts',
        test: 'a signal ends in order: ready off, quiet, stop, kill, close',
      },
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'while draining only the operators are answered',
      },
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'a request under way is finished before the server stops',
      },
    ],
  },
  {
    id: 'shutdown-bounded',
    promise: 'Shutdown never takes longer than the grace period plus 5 seconds; a second signal exits at once.',
    heldBy: [
      { file: 'test/engine/runtime/shutdown.test.ts', test: 'never lasts longer than grace + 5 s' },
      { file: 'test/engine/runtime/shutdown.test.ts', test: 'what does not stop is killed at the end of the grace' },
      { file: 'test/engine/runtime/shutdown.test.ts', test: 'a second signal exits at once' },
      {
        file: 'test/engine/runtime/supervisor.test.ts',
        test: 'a child that never stops holds nobody up beyond the deadline',
      },
    ],
  },
  {
    id: 'shutdown-gives-back',
    promise: 'A job that does not end in time goes back to the queue, and the next process finishes it.',
    heldBy: [
      {
        file: 'test/actors/topology.test.ts',
        test: 'a stop that runs out of time gives the running job back, and the next process does it',
      },
      {
        file: 'test/actors/jobs/job-lane.test.ts',
        test: 'a stop gives back what has not begun and waits for what runs',
      },
    ],
  },
];
