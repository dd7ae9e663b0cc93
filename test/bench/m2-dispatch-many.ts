// M2: the same as M1 with 100 jobs in flight, as many as a lane may have waiting in memory.

import { measureDispatch } from './dispatch.ts';
import type { BenchRow } from './row.ts';

export const rows: readonly BenchRow[] = [
  {
    id: 'M2',
    title: 'jobs that do nothing, in two threads, 100 in flight; lane: through a lane from memory',
    ...{ unit: 'jobs/s', better: 'higher' },
    sides: {
      default: { is: 'peer', what: 'Piscina as it comes' },
      tuned: { is: 'peer', what: 'Piscina, concurrentTasksPerWorker 10' },
      wide: { is: 'peer', what: 'Piscina, concurrentTasksPerWorker 100' },
    },
    bars: [
      { over: 'default', atLeast: 25 },
      { over: 'tuned', atLeast: 6 },
      { of: 'cpu', unit: 'us of CPU a job', atMost: 2 },
    ],
    measure: (rounds) => measureDispatch(rounds, { inFlight: 100, jobs: 500_000, peerJobs: 50_000 }),
  },
];
