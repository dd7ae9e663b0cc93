// What goes on while a dependency is away, and when it is back.

import type { PromiseRow } from '../promises.ts';

export const OUTAGES: readonly PromiseRow[] = [
  {
    id: 'outage-costs-no-attempt',
    promise: 'While a dependency is away its jobs wait without using attempts, however long that takes.',
    heldBy: [
      {
        file: 'test/actors/jobs/job-handler.test.ts',
        test: 'a dependency that was not reached costs no try, however often',
      },
      { file: 'test/actors/topology.test.ts', test: 'a plugin that is down for a while holds nothing up for good' },
    ],
  },
  {
    id: 'transient-retried',
    promise:
      'A transient failure is retried with growing delays, up to 12 attempts, and the owner sees which attempt it is.',
    heldBy: [
      {
        file: 'test/actors/jobs/job-handler.test.ts',
        test: 'a transient failure is tried again until its attempts are used up',
      },
      {
        file: 'test/engine/runtime/retry.test.ts',
        test: 'delays grow from the base to the maximum, with full jitter above the base',
      },
      {
        file: 'test/actors/lanes/import-lane.test.ts',
        test: 'transient failures are counted in the message, and the last one fails the import',
      },
    ],
  },
  {
    id: 'final-answer-waits',
    promise: "An answer about the user's data is final: nothing retries it until a person asks.",
    heldBy: [
      {
        file: 'test/actors/lanes/import-lane.test.ts',
        test: 'an answer of the plugin about the data is final, and replaces what was said before',
      },
      { file: 'test/actors/reconcile-work.test.ts', test: 'answers that are final wait for a person' },
    ],
  },
  {
    id: 'start-without-dependencies',
    promise:
      'At start, serve waits for its databases and its store, names what is missing, and starts without all other dependencies.',
    heldBy: [
      {
        file: 'test/e2e/late-dependencies.test.ts',
        test: 'serve waits for its database, says so, and starts once it is there',
      },
      {
        file: 'test/e2e/late-dependencies.test.ts',
        test: 'a start ends after startupWait with exit code 4 and names what was missing',
      },
      { file: 'test/engine/runtime/supervisor.test.ts', test: 'a dependency that is away is waited for, however long' },
    ],
  },
  {
    id: 'database-connection-lost',
    promise:
      'A lost database connection fails the calls that were running on it, and the next call gets a new connection.',
    heldBy: [
      {
        file: 'test/engine/adapters/postgres/postgres.test.ts',
        test: 'a connection lost at any statement fails that transaction alone, and the next one gets another',
      },
      {
        file: 'test/engine/adapters/postgres/postgres-instance.test.ts',
        test: 'a lost connection is replaced: same id, alive again, gap reported',
      },
    ],
  },
  {
    id: 'store-away',
    promise: 'While the object store is away, requests that need it get 503 and change nothing.',
    heldBy: [
      {
        file: 'test/http/installer/create-limits.test.ts',
        test: 'a store that is away answers 503 and leaves nothing',
      },
      { file: 'test/http/installer/patch.test.ts', test: 'a store that is away changes nothing' },
      { file: 'test/http/installer/revise-conflicts.test.ts', test: 'a store that is away makes no revision' },
    ],
  },
  {
    id: 'store-faults-named',
    promise: 'We never take a store that refuses or hangs for an empty one.',
    heldBy: [
      { file: 'test/stack/s3-faults.test.ts', test: 'a bucket that does not exist, whose objects are not just absent' },
      {
        file: 'test/engine/adapters/directory/object-store.test.ts',
        test: 'a directory that is away, or no directory, is no empty store',
      },
      { file: 'test/actors/lanes/hard-delete-lane.test.ts', test: 'a store that does not answer proves nothing' },
    ],
  },
  {
    id: 'broker-away',
    promise: 'Brokers may restart, hang or drop connections: we go on reading and lose no message.',
    heldBy: [
      {
        file: 'test/stack/rabbitmq.test.ts',
        test: 'a connection that breaks while a batch is handled: the batch comes again, and nothing after it is lost',
      },
      {
        file: 'test/stack/rabbitmq.test.ts',
        test: 'a broker that is restarted: what it kept is read, and health tells',
      },
      {
        file: 'test/stack/kafka.test.ts',
        test: 'a cluster that hangs holds publishing and reading up, and loses nothing',
      },
      { file: 'test/stack/kafka-client.test.ts', test: 'a reader whose cluster is killed goes on when it is back' },
      {
        file: 'test/stack/kafka-outage.test.ts',
        test: 'Kafka is killed … times under uploads: every dataset is installed exactly once',
      },
    ],
  },
  {
    id: 'kafka-leader',
    promise: 'Partitions of Kafka may move and their leaders be killed: every event comes, and in order.',
    heldBy: [
      {
        file: 'test/stack/kafka-cluster.test.ts',
        test: 'a partition moves to another broker under load: every event comes, and in order',
      },
      {
        file: 'test/stack/kafka-cluster.test.ts',
        test: 'the leader of a partition is killed under load: the others go on, and no event is lost',
      },
    ],
  },
  {
    id: 'kafka-retention',
    promise: 'Of what Kafka removed before it was read, the reconciler finds the datasets; nothing else is skipped.',
    heldBy: [
      { file: 'test/stack/kafka-cluster.test.ts', test: 'what retention removed unread is skipped, and nothing else' },
      {
        file: 'test/stack/kafka-outage.test.ts',
        test: 'what Kafka removed unread is found by a run of the reconciler',
      },
    ],
  },
  {
    id: 'kafka-handover',
    promise: 'When a process that reads Kafka is killed, another takes over its partitions and no event is lost.',
    heldBy: [
      {
        file: 'test/stack/kafka-readers.test.ts',
        test: 'two processes share the partitions; when one is killed the other takes over, and nothing is lost',
      },
    ],
  },
  {
    id: 'plugin-breaker',
    promise: 'After five unanswered calls in a row we stop calling a plugin and probe it until it answers.',
    heldBy: [
      {
        file: 'test/actors/plugins/plugin-breakers.test.ts',
        test: 'five calls in a row that nobody answers stop the jobs of that plugin, until a probe is answered',
      },
      {
        file: 'test/actors/plugins/plugin-breakers.test.ts',
        test: 'a probe that nobody answers keeps it open for as long again',
      },
    ],
  },
  {
    id: 'mail-server-away',
    promise: 'Mails wait while the mail server is away, and go out when it is back.',
    heldBy: [
      {
        file: 'test/actors/daemons/access-mail.test.ts',
        test: 'a server that is away does not use up attempts, and the same mail is sent when it is back',
      },
      {
        file: 'test/actors/daemons/access-mail.test.ts',
        test: 'a mail that is refused is given up at once and does not keep others waiting',
      },
    ],
  },
  {
    id: 'target-database-moves',
    promise:
      'We find a moved target database through the directory, and keep its last address while the directory is away.',
    heldBy: [
      {
        file: 'test/engine/adapters/postgres/located-postgres.test.ts',
        test: 'a database that has moved is found once it is not reached where it was',
      },
      {
        file: 'test/engine/adapters/postgres/located-postgres.test.ts',
        test: 'while the directory is away, the last place is good enough',
      },
    ],
  },
  {
    id: 'calls-have-deadlines',
    promise: 'We give up a peer that accepts a call and then says nothing.',
    heldBy: [
      {
        file: 'test/engine/adapters/plugins/plugin-client.test.ts',
        test: 'a server that says nothing is given up after the time of its scripts and a margin',
      },
      {
        file: 'test/engine/adapters/plugins/plugin-client.test.ts',
        test: 'an answer that stops in the middle is given up',
      },
      { file: 'test/stack/rabbitmq.test.ts', test: 'a broker that hangs is given up after the time-out' },
      { file: 'test/stack/s3-faults.test.ts', test: 'a server that hangs' },
    ],
  },
  {
    id: 'log-disk-full',
    promise: 'A full disk under the log costs log lines only, and the log says how many.',
    heldBy: [
      {
        file: 'test/engine/runtime/log-destination.test.ts',
        test: 'a full disk costs lines and throws nothing; the first are kept and written when there is room again',
      },
      {
        file: 'test/engine/runtime/log-destination.test.ts',
        test: 'a process whose log is on a full device goes on, and says so once',
      },
    ],
  },
];
