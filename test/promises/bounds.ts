// Everything that could grow has a bound, and an answer when it is full.

import type { PromiseRow } from '../promises.ts';

export const BOUNDS: readonly PromiseRow[] = [
  {
    id: 'mailbox-bounded',
    promise: 'A mailbox refuses messages when it is full, and a lane never holds more jobs than its bounds allow.',
    heldBy: [
      { file: 'test/engine/jobs/mailbox.test.ts', test: 'refuses when full and takes again when one has left' },
      {
        file: 'test/engine/jobs/lane-calls.test.ts',
        test: 'there are never more jobs in memory than may be',
      },
    ],
  },
  {
    id: 'threads-bounded',
    promise: 'The worker pool refuses tasks when its queue is full.',
    heldBy: [{ file: 'test/engine/threads/worker-pool.test.ts', test: 'refuses when as many wait as may' }],
  },
  {
    id: 'batches-bounded',
    promise: 'Events and changes arrive in batches of bounded size, however many are waiting.',
    heldBy: [
      { file: 'test/conformance/event-log.ts', test: 'batches hold 1 to 500 records' },
      { file: 'test/conformance/change-queue.ts', test: 'batches hold 1 to 500 changes' },
      { file: 'test/stack/kafka-client.test.ts', test: 'batches hold no more than maxPollRecords' },
    ],
  },
  {
    id: 'connections-bounded',
    promise:
      'A front end bounds connections, all and per address; a new one beyond that takes the place of an idle one, or is closed.',
    heldBy: [
      {
        file: 'test/http/kernel/server/connection-limit.test.ts',
        test: 'a connection beyond the limit is closed unanswered while all are in use, and one that ends makes room',
      },
      {
        file: 'test/http/kernel/server/connections.test.ts',
        test: 'a new connection of an address that has its share takes the place of one that rests, or of a silent one',
      },
      {
        file: 'test/attack/silent-connections.test.ts',
        test: '… silent connections to a TLS listener: others are served',
      },
    ],
  },
  {
    id: 'answers-bounded',
    promise:
      'One request of a connection is served at a time, and what clients do not take of their answers is bounded in bytes.',
    heldBy: [
      {
        file: 'test/http/kernel/server/connections.test.ts',
        test: 'of answers that nobody takes so much is kept; beyond that the slowest clients are cut off',
      },
      {
        file: 'test/attack/pipelined-answers.test.ts',
        test: 'pipelined requests whose answers are not read cost a bounded amount of memory',
      },
    ],
  },
  {
    id: 'slow-downloads',
    promise: 'Many slow downloads at once are all sent to their end, and together have a bounded amount of memory.',
    heldBy: [
      {
        file: 'test/http/kernel/answers/sending.test.ts',
        test: 'many slow clients at once get the whole of their downloads, and none is cut off',
      },
    ],
  },
  {
    id: 'lists-bounded',
    promise: 'Lists are read in pages of bounded bytes, whatever the size of their rows.',
    heldBy: [
      {
        file: 'test/engine/adapters/postgres/row-pages.test.ts',
        test: 'a page that its bytes cut short goes on where it was cut, and the next is no longer than it',
      },
      {
        file: 'test/conformance/dataset-queries.ts',
        test: 'large metadata between small ones are listed once each, in their order',
      },
      {
        file: 'test/attack/large-lists.test.ts',
        test: '…: readers that take nothing cost a bounded amount of memory',
      },
      {
        file: 'test/attack/large-texts.test.ts',
        test: 'a history of long texts: readers that take nothing cost a bounded amount of memory',
      },
    ],
  },
  {
    id: 'slow-transfers',
    promise: 'A client that sends its request or takes its answer too slowly is cut off.',
    heldBy: [
      {
        file: 'test/http/kernel/server/connections.test.ts',
        test: 'a client that takes less of its answer than it has to is cut off',
      },
      {
        file: 'test/http/kernel/server/connections.test.ts',
        test: 'a client that sends less of its body than it has to is cut off',
      },
      {
        file: 'test/http/kernel/server/connection-limit.test.ts',
        test: 'whoever does not finish the handshake of TLS counts, and is cut off',
      },
      { file: 'test/attack/slow-readers.test.ts', test: 'readers that take nothing: others get a place' },
    ],
  },
  {
    id: 'memories-bounded',
    promise: 'What front ends remember about callers is bounded: the oldest entry goes first.',
    heldBy: [
      { file: 'test/http/kernel/auth/tokens.test.ts', test: 'of too many the oldest is forgotten' },
      { file: 'test/http/kernel/auth/authenticate.test.ts', test: 'what is remembered has a bound' },
    ],
  },
  {
    id: 'handler-bounded',
    promise:
      'By default 16 handler jobs wait and 4 run; the next upload gets 503 with Retry-After before we read its body.',
    heldBy: [
      {
        file: 'test/actors/handler/places.test.ts',
        test: '16 wait and 4 run: 20 are taken, never more than 4 run, the 21st is 503 before its body',
      },
    ],
  },
  {
    id: 'reports-bounded',
    promise: 'When too many report jobs wait, new ones get 503 with Retry-After, and known ones are still answered.',
    heldBy: [
      {
        file: 'test/http/report/create.test.ts',
        test: 'when too many wait, more are 503 with Retry-After, and the same ones are not',
      },
    ],
  },
  {
    id: 'plugin-host-bounded',
    promise: 'A full plugin host answers 503 with Retry-After before it reads the body.',
    heldBy: [
      {
        file: 'test/http/plugin-host/routes.test.ts',
        test: 'a host without room says when to come back, before it reads the body',
      },
      {
        file: 'test/actors/plugin-host/call-gate.test.ts',
        test: 'no call waits longer than allowed, and an aborted wait leaves no trace',
      },
    ],
  },
  {
    id: 'uploads-per-user',
    promise: 'A user has a limit of simultaneous uploads; the next one gets 429 with Retry-After.',
    heldBy: [
      { file: 'test/http/installer/create-limits.test.ts', test: 'a user may have a few uploads under way, no more' },
      { file: 'test/http/installer/document-limits.test.ts', test: 'a user may send a few files at once, no more' },
    ],
  },
  {
    id: 'quota-counts-everything',
    promise: 'The quota counts every byte that is kept for an owner, however it came to be kept.',
    heldBy: [
      {
        file: 'test/actors/quota-life.test.ts',
        test: 'what the quota counts is what the store keeps, at each of 500 steps',
      },
      {
        file: 'test/engine/adapters/uploads/counted-store.test.ts',
        test: 'two puts at once do not pass the limit together',
      },
    ],
  },
  {
    id: 'disk-floor',
    promise: 'Below the floor of a disk, writes are refused and jobs wait; reads and deletions go on.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/full-disk.test.ts',
        test: 'what would write is refused with 503 while a disk is full, and taken again by itself',
      },
      {
        file: 'test/actors/plugins/room-first.test.ts',
        test: 'what writes waits for room without using up a try; what makes room goes on',
      },
    ],
  },
  {
    id: 'quota',
    promise: 'Simultaneous uploads cannot exceed the quota together.',
    heldBy: [
      { file: 'test/conformance/uploads.ts', test: 'uploads that begin at once cannot pass the limit together' },
      {
        file: 'test/http/installer/create-limits.test.ts',
        test: 'an upload beyond the quota is refused, announced or not, and leaves what was there',
      },
      {
        file: 'test/engine/adapters/catalog/uploads.test.ts',
        test: 'the counter of an owner is what a full count gives, however rows come and go',
      },
    ],
  },
  {
    id: 'upload-size',
    promise: 'An upload above maxUploadSize is refused, whether or not it announced its size.',
    heldBy: [
      {
        file: 'test/http/installer/create-limits.test.ts',
        test: 'an upload beyond its largest size is refused, announced or not, and leaves nothing',
      },
      {
        file: 'test/http/installer/uploads/upload-limits.test.ts',
        test: 'refuses what is larger than an upload may be, over all its files',
      },
    ],
  },
  {
    id: 'memory-flat',
    promise: 'Memory stays flat for large uploads, archives, script output and results.',
    heldBy: [
      {
        file: 'test/actors/tasks/pack-upload.test.ts',
        test: 'memory stays flat: a few hundred MiB never wait in buffers',
      },
      { file: 'test/e2e/memory.test.ts', test: '… MiB from the upload to the sites' },
      { file: 'test/e2e/memory-handler.test.ts', test: 'an archive of … bytes, and a result of twice that' },
      {
        file: 'test/e2e/memory-scripts.test.ts',
        test: '500 MB of output and processes that hold the pipes: memory stays flat, and nothing is left',
      },
    ],
  },
  {
    id: 'nothing-piles-up',
    promise: 'A process keeps nothing of finished work, however long it runs.',
    heldBy: [
      {
        file: 'test/simulation/long-life.test.ts',
        test: 'a process keeps nothing of what it has done, however long it runs',
      },
      {
        file: 'test/http/kernel/server/request-scope.test.ts',
        test: 'of a request that is over nothing is kept, whatever still listens to its signal',
      },
      { file: 'test/e2e/handler-many-jobs.test.ts', test: '… jobs leave no folder, no process and no descriptor' },
    ],
  },
];
