// M1: what it costs to have a thread do something, with 10 jobs in flight.

import { measureDispatch } from './dispatch.ts';
import type { BenchRow } from './row.ts';

export const rows: readonly BenchRow[] = [
  {
    id: 'M1',
    title: 'jobs that do nothing, in two threads, 10 in flight; lane: through a lane from memory',
    ...{ unit: 'jobs/s', better: 'higher' },
    sides: {
      tuned: { is: 'peer', what: 'Piscina, concurrentTasksPerWorker 10' },
      default: { is: 'peer', what: 'Piscina as it comes' },
    },
    bars: [
      { over: 'tuned', atLeast: 1.2 },
      // Five times the default, twice when that has its fast spell (above 40,000 jobs/s).
      { over: 'asked', atLeast: 1 },
    ],
    measure: (rounds) => measureDispatch(rounds, { inFlight: 10, jobs: 100_000, peerJobs: 30_000 }),
  },
];
