// What a bad job, dataset, plugin, target or message costs: itself.

import type { PromiseRow } from '../promises.ts';

export const CONTAINMENT: readonly PromiseRow[] = [
  {
    id: 'thread-death-contained',
    promise: 'A job that keeps killing its thread is given up and its owner is told; its neighbors run again.',
    heldBy: [
      {
        file: 'test/actors/crashing-threads.test.ts',
        test: 'a job that … is given up; its neighbours run once more, and the lane goes on',
      },
      {
        file: 'test/actors/crash-report.test.ts',
        test: 'the owner of a dataset whose … kills its thread is told so',
      },
    ],
  },
  {
    id: 'defect-contained',
    promise: 'A bug in our code that strikes one job ends that job only.',
    heldBy: [{ file: 'test/actors/jobs/job-lane.test.ts', test: 'a defect costs its own job only' }],
  },
  {
    id: 'actor-restarted',
    promise: 'An actor that crashes is restarted alone; too many crashes in a short time end the process.',
    heldBy: [
      { file: 'test/engine/runtime/supervisor.test.ts', test: 'restarts the child that broke, and that one only' },
      {
        file: 'test/engine/runtime/supervisor.test.ts',
        test: 'breaks itself, all stopped, when children break too often',
      },
    ],
  },
  {
    id: 'poison-message',
    promise: 'A message that is no event or notification is counted and skipped, and does not block the others.',
    heldBy: [
      {
        file: 'test/stack/rabbitmq.test.ts',
        test: 'a message that is no notification is counted and does not hold up the others',
      },
      { file: 'test/stack/kafka.test.ts', test: 'what is no event is skipped and counted, and holds nothing up' },
    ],
  },
  {
    id: 'target-alone',
    promise: 'A target that fails or is away does not delay the others.',
    heldBy: [
      { file: 'test/actors/lanes/install-lane.test.ts', test: 'each target has its own end' },
      {
        file: 'test/actors/lanes/install-lane.test.ts',
        test: 'a target that does not answer waits alone, and is installed when it is back',
      },
      {
        file: 'test/actors/lanes/update-meta-lane.test.ts',
        test: 'a target that is away does not hold back the first install on the others',
      },
    ],
  },
  {
    id: 'user-alone',
    promise: 'Whatever one user has waiting, the job of another user is the next to begin, in every queue.',
    heldBy: [
      {
        file: 'test/actors/jobs/fair-share.test.ts',
        test: '…: with … workers, the one job of another user is the next to begin',
      },
      {
        file: 'test/actors/report/report-lane.test.ts',
        test: 'of … places with … waiting in memory, the next is for whoever has none, however many jobs wait',
      },
      {
        file: 'test/actors/handler/places.test.ts',
        test: 'whatever an owner has waiting, the job of another is the next to run',
      },
      {
        file: 'test/actors/handler/places.test.ts',
        test: 'uploads that drip hold a share of the places, and others are served',
      },
      {
        file: 'test/attack/one-user-floods.test.ts',
        test: 'one user has a hundred uploads waiting: those of another are installed before most of them',
      },
    ],
  },
  {
    id: 'plugin-alone',
    promise: 'A slow or silent plugin leaves workers to the other plugins.',
    heldBy: [
      {
        file: 'test/actors/fairness.test.ts',
        test: 'a slow plugin holds 3 of 5 workers at most while another has work, queue of …',
      },
      {
        file: 'test/e2e/hung-plugin.test.ts',
        test: 'a plugin that never answers keeps nobody else waiting, and its datasets come back',
      },
    ],
  },
  {
    id: 'dataset-unreadable',
    promise:
      'Metadata that cannot be read fail the jobs of that dataset only; the reconciler neither changes nor deletes it.',
    heldBy: [
      {
        file: 'test/actors/lanes/import-lane.test.ts',
        test: 'a metadata object that cannot be read costs its own job only',
      },
      {
        file: 'test/actors/reconciler/reconciler.test.ts',
        test: 'a dataset whose metadata cannot be read is malformed: neither reconciled nor deleted',
      },
    ],
  },
  {
    id: 'install-whole',
    promise: 'A staged installation appears whole, and one that fails leaves the old files in place.',
    heldBy: [
      {
        file: 'test/actors/plugin-host/plugin-host.test.ts',
        test: 'an installation that fails leaves the old one as it is',
      },
      {
        file: 'test/actors/plugin-host/install-folder.test.ts',
        test: 'a swap that is cut off at any step is finished by the next start, be it cut off too',
      },
    ],
  },
];
