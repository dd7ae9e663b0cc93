// How an operator sees what goes on.

import type { PromiseRow } from '../promises.ts';

export const OBSERVATION: readonly PromiseRow[] = [
  {
    id: 'health',
    promise:
      '/health names what is away and answers within seconds even if a check hangs; /ready says whether to send requests.',
    heldBy: [
      { file: 'test/http/kernel/pipeline/ops.test.ts', test: 'health tells what is away, in our own words only' },
      {
        file: 'test/http/kernel/pipeline/ops.test.ts',
        test: 'a check that hangs costs two seconds, and all who ask meanwhile share it',
      },
      { file: 'test/e2e/up.test.ts', test: 'health, readiness and metrics of a running up' },
    ],
  },
  {
    id: 'metrics-documented',
    promise: 'The README lists every metric, and no other.',
    heldBy: [
      {
        file: 'test/metrics-table.test.ts',
        test: 'the table has a row for each metric of a running process, and no other',
      },
    ],
  },
  {
    id: 'log-documented',
    promise: 'engine/LOG-EVENTS.md lists every message that we log at info or above, and no other.',
    heldBy: [
      {
        file: 'test/log-events.test.ts',
        test: 'engine/LOG-EVENTS.md has every message that is logged at info or above, at its levels, and no other',
      },
    ],
  },
  {
    id: 'alerts',
    promise: 'Every alert rule fires when it should, and only then.',
    heldBy: [
      { file: 'test/observability/alerts.test.ts', test: '…: fires when it should, and only then' },
      { file: 'test/observability/live.test.ts', test: 'nothing fires while all is well' },
    ],
  },
  {
    id: 'traces',
    promise: 'The trace of a request is in its log lines, in those of its jobs and scripts, and in calls to plugins.',
    heldBy: [
      {
        file: 'test/observability/trace.test.ts',
        test: 'the log of hosted plugins, of every lane and of the front end has the trace',
      },
      {
        file: 'test/engine/adapters/plugins/plugin-trace.test.ts',
        test: 'every call tells the plugin server its trace, under an id of its own; one without a trace tells none',
      },
    ],
  },
  {
    id: 'systemd',
    promise: 'systemd is told once, when the service is ready.',
    heldBy: [
      {
        file: 'test/bin/compose/tuning-signals-systemd.test.ts',
        test: 'systemd is told once, through its own program',
      },
    ],
  },
  {
    id: 'database-of-up-ends',
    promise: 'If its own PostgreSQL dies, up ends with exit code 1 and can be started again.',
    heldBy: [
      {
        file: 'test/e2e/up.test.ts',
        test: 'an up whose database ends says so, ends with exit code 1 and starts again',
      },
    ],
  },
  {
    id: 'cut-answers-look-cut',
    promise: 'An answer that breaks off in the middle never looks complete.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'a list is streamed, and one that breaks is cut off instead of looking whole',
      },
      { file: 'test/http/kernel/answers/download.test.ts', test: 'a store that fails half-way cuts the answer off' },
      {
        file: 'test/http/installer/admin-object-listing.test.ts',
        test: 'a listing that fails in the middle does not look complete',
      },
    ],
  },
];
