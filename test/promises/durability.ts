// What was accepted stays, whatever is killed.

import type { PromiseRow } from '../promises.ts';

export const DURABILITY: readonly PromiseRow[] = [
  {
    id: 'killed-anywhere',
    promise: 'After a kill -9 at any step, a restart reaches the same final state and leaves nothing behind.',
    heldBy: [
      {
        file: 'test/e2e/crash.test.ts',
        test: 'kill -9 during …: the same final state after a restart, and nothing left behind',
      },
      {
        file: 'test/engine/adapters/embedded-postgres/postgres-orphan.test.ts',
        test: 'what is left of a killed server is stopped, and nothing else that works in its directory',
      },
      {
        file: 'test/engine/adapters/embedded-postgres/postgres-orphan.test.ts',
        test: 'a server starts although another program has the number of the one that was killed',
      },
      {
        file: 'test/e2e/crash-under-load.test.ts',
        test: 'killed again and again under a load of uploads, it loses no dataset and installs none twice',
      },
      { file: 'test/actors/crash.test.ts', test: 'with any call of a port cut off or failed, it ends the same: …' },
      { file: 'test/simulation/simulation.test.ts', test: 'twenty seeds end as they must' },
    ],
  },
  {
    id: 'accepted-whole',
    promise: 'We answer 202 after we have stored the upload and committed its dataset and its job in one transaction.',
    heldBy: [
      { file: 'test/conformance/uploads.ts', test: 'acceptance makes the dataset, its job and its source in one step' },
      {
        file: 'test/engine/adapters/catalog/uploads.test.ts',
        test: 'an acceptance whose job cannot be enqueued leaves the upload as it was',
      },
      {
        file: 'test/http/installer/uploads/upload-session.test.ts',
        test: 'a commit whose answer was lost is still an accepted upload',
      },
    ],
  },
  {
    id: 'events-once',
    promise: 'A stream of events has each event once and in order, whatever is killed while it is followed.',
    heldBy: [
      {
        file: 'test/e2e/event-streams.test.ts',
        test: 'each stream has each event once and in order, whatever is killed',
      },
      {
        file: 'test/engine/adapters/datasets/dataset-events.test.ts',
        test: 'an event that is committed late is not missed: it comes after those that were read before',
      },
      {
        file: 'test/engine/adapters/datasets/dataset-events.test.ts',
        test: 'a cache that is built anew tells nothing of the past, and then what is new',
      },
    ],
  },
  {
    id: 'refused-leaves-nothing',
    promise: 'An upload that is refused or cut off leaves no object, no row and no reserved quota.',
    heldBy: [
      {
        file: 'test/http/installer/cut-off.test.ts',
        test: 'an upload … that is cut off at any byte leaves no object, no row and no reservation',
      },
      { file: 'test/http/installer/create-refusals.test.ts', test: 'refuses …, and leaves nothing' },
      {
        file: 'test/http/installer/uploads/upload-session.test.ts',
        test: 'an abandoned upload leaves no object, no row, no reservation',
      },
    ],
  },
  {
    id: 'half-received-removed',
    promise: 'We remove what a dead process was receiving, and give its quota back.',
    heldBy: [
      {
        file: 'test/actors/daemons/sweeps.test.ts',
        test: 'what a dead process was receiving goes, with its reservation; all else stays',
      },
      {
        file: 'test/conformance/uploads.ts',
        test: 'what was listed as an orphan cannot be accepted by a process that lives after all',
      },
    ],
  },
  {
    id: 'object-whole-or-absent',
    promise: 'The object store keeps an object whole or not at all.',
    heldBy: [
      {
        file: 'test/conformance/object-store.ts',
        test: 'stores nothing of a stream that is longer or shorter than announced',
      },
      {
        file: 'test/conformance/object-store.ts',
        test: 'stores nothing of a source that fails or closes early, and keeps what was there',
      },
      { file: 'test/engine/adapters/directory/object-store.test.ts', test: 'a crash at any step of a put' },
      { file: 'test/stack/s3-objects.test.ts', test: 'a put in parts that fails leaves neither an object nor parts' },
    ],
  },
  {
    id: 'store-change-announced',
    promise: 'Every change of the object store is announced, even if the process died in the middle of it.',
    heldBy: [
      {
        file: 'test/engine/adapters/directory/object-store.test.ts',
        test: "at '…' announces the new object if and only if it is there",
      },
      {
        file: 'test/engine/adapters/directory/object-store.test.ts',
        test: "at '…' announces the removal if and only if it happened",
      },
      {
        file: 'test/engine/adapters/events/change-queue.test.ts',
        test: 'a change that was dropped while its process was cut off is delivered once it is made',
      },
    ],
  },
  {
    id: 'at-least-once',
    promise:
      'Changes and events are delivered at least once: we acknowledge them after we have written what follows from them.',
    heldBy: [
      {
        file: 'test/actors/events/event-router.test.ts',
        test: 'a change is acknowledged only after its events are durable',
      },
      {
        file: 'test/actors/events/event-router-intake.test.ts',
        test: 'a message is acknowledged only after its job row is there',
      },
      { file: 'test/conformance/event-log.ts', test: 'the batch of a process that died comes again elsewhere' },
      { file: 'test/conformance/change-queue.ts', test: 'the batch of a process that died comes again elsewhere' },
    ],
  },
  {
    id: 'notification-lost',
    promise:
      'Reconciliation finds and repairs a change that the store never announced, within one fullRunInterval at most.',
    heldBy: [
      {
        file: 'test/actors/daemons/daemons.test.ts',
        test: 'a lost announcement is found within one fullRunInterval, whenever it was lost and wherever',
      },
      { file: 'test/actors/reconciler-chain.test.ts', test: '…: found, and as if nothing had happened' },
      {
        file: 'test/actors/reconciler/merge-in-store-order.test.ts',
        test: 'whatever the streams hold, they come as a map of all of them has it in the order of bytes',
      },
    ],
  },
  {
    id: 'cache-rebuilt',
    promise: 'A lost cache database can be rebuilt from the object store and the targets.',
    heldBy: [
      {
        file: 'test/actors/rebuild.test.ts',
        test: 'a cache that was lost is built anew from the store and the targets',
      },
      { file: 'test/actors/rebuild-postgres.test.ts', test: 'a dropped cache schema is built anew' },
      { file: 'test/e2e/rebuild.test.ts', test: 'everything is as before the cache was lost' },
    ],
  },
  {
    id: 'killed-process-replaced',
    promise: 'Other processes claim the jobs of a killed process at once.',
    heldBy: [
      { file: 'test/conformance/job-outcomes.ts', test: 'the job of a dead process is claimed at once, without blame' },
      { file: 'test/actors/topology.test.ts', test: 'another process finishes what a crash cut off' },
    ],
  },
  {
    id: 'handler-killed',
    promise: 'A handler job that a kill interrupts ends as failed with the reason, and its id can be used again.',
    heldBy: [
      {
        file: 'test/e2e/handler.test.ts',
        test: 'a kill -9 during a run: the job has failed, its command is dead, its id works again',
      },
    ],
  },
  {
    id: 'report-killed',
    promise: 'A report whose run is interrupted is made whole by another run.',
    heldBy: [
      { file: 'test/actors/report/report-faults.test.ts', test: 'a report is made whole whatever call it is that …' },
      {
        file: 'test/e2e/report.test.ts',
        test: 'fifty identical requests at once are one run, and a kill -9 during it is no end of it',
      },
    ],
  },
  {
    id: 'created-once',
    promise: 'A creation that is repeated with its Idempotency-Key creates one thing, also after a kill -9.',
    heldBy: [
      {
        file: 'test/e2e/idempotency.test.ts',
        test: '50 times at once, after a kill -9, and after one in the middle: one dataset for each key',
      },
      {
        file: 'test/engine/adapters/idempotency/idempotency-keys.test.ts',
        test: 'the acceptance of a dataset and the answer of its key are one: both, or none',
      },
      {
        file: 'test/http/access/keyed-people.test.ts',
        test: 'the answer is stored with the change: without its key there is no change',
      },
    ],
  },
  {
    id: 'access-change-whole',
    promise: 'A change in dataset access happens whole or not at all, with its history and its mails.',
    heldBy: [
      {
        file: 'test/http/access/crash-changes.test.ts',
        test: 'cut at every statement, a change is whole or not there, and can be asked for again',
      },
      {
        file: 'test/http/access/crash-people.test.ts',
        test: 'cut at every statement, a change is whole or not there, and can be asked for again',
      },
      {
        file: 'test/http/access/crash-requests.test.ts',
        test: 'cut at every statement, a change is whole or not there, and can be asked for again',
      },
    ],
  },
  {
    id: 'changes-reach-sites',
    promise: 'A change of metadata or of a property file reaches every site that has the dataset.',
    heldBy: [
      {
        file: 'test/actors/lanes/update-meta-lane.test.ts',
        test: 'a change of the metadata reaches cache, targets and plugin',
      },
      {
        file: 'test/actors/lanes/update-meta-lane.test.ts',
        test: 'a property that is added, replaced or removed makes what is installed stale',
      },
      {
        file: 'test/actors/lanes/update-meta-lane.test.ts',
        test: 'a target that is away waits for the change of what is installed there',
      },
    ],
  },
  {
    id: 'webhooks-at-least-once',
    promise:
      'Each event is sent to each webhook that it concerns, again with the same id if a receiver or we were away.',
    heldBy: [
      {
        file: 'test/e2e/webhooks.test.ts',
        test: 'what was being sent when the program was killed is sent again, with the same id',
      },
      { file: 'test/e2e/webhooks.test.ts', test: 'a receiver that was away gets what happened meanwhile' },
      {
        file: 'test/engine/adapters/webhooks/webhooks.test.ts',
        test: 'each event becomes one delivery of each webhook that it concerns, whoever claims',
      },
    ],
  },
];
