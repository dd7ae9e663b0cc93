// W2: 200,000 events of 300 bytes in 16 partitions from a broker of Apache Kafka into a mailbox: parsed, judged and turned into
// requests for jobs, as the product's event intake does. The peers read the same topic with kafkajs and parse. Timed from the
// first message handed over to the last, so that joining the group, which waits, counts for nobody.

import { type Consumer, Kafka, logLevel, Partitioners } from 'kafkajs';
import type { LaneChannels } from '../../actors/events/event-router.ts';
import { takeEvents } from '../../actors/events/event-router.ts';
import type { EventIds } from '../../engine/adapters/events/postgres-log.ts';
import { KafkaEventLog } from '../../engine/adapters/kafka/kafka-log.ts';
import { Mailbox } from '../../engine/jobs/mailbox.ts';
import type { JobRequest, Jobs } from '../../engine/ports/jobs.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { KafkaCluster } from '../stack/kafka.ts';
import { kafkaSettings } from '../stack/kafka-settings.ts';
import type { BenchRow, Round } from './row.ts';

const TOPIC = 'import';
const KEY = 'import-key';
const PARTITIONS = 16;
const EVENTS = 200_000;
const EVENT_BYTES = 300;
const BATCH = 1_000;
const CHECKSUM = (EVENTS * (EVENTS + 1)) / 2;
const WITHIN_MS = 60_000;

const row: BenchRow = {
  id: 'W2',
  watched: true,
  title: '200,000 events of 300 bytes in 16 partitions from Kafka into a mailbox, parsed and judged',
  unit: 'events/s',
  better: 'higher',
  sides: {
    eachMessage: { is: 'peer', what: 'kafkajs eachMessage and JSON.parse' },
    eachBatch: { is: 'peer', what: 'kafkajs eachBatch and JSON.parse' },
    count: { is: 'anchor', what: 'kafkajs eachBatch, messages counted and not looked at' },
  },
  bars: [
    { over: 'eachBatch', atLeast: 0.8 },
    { over: 'eachMessage', atLeast: 0.8 },
  ],
  async measure(rounds) {
    await using cleanup = new AsyncDisposableStack();
    const t = { teardown: (fn: () => unknown) => cleanup.defer(async () => void (await fn())) };
    const cluster = await KafkaCluster.start(t, { topics: { [TOPIC]: PARTITIONS } });
    await fill(cluster);
    const measured: Round[] = [];
    const ways = Object.entries({ ours, eachMessage, eachBatch, count });
    for (let n = -1; n < rounds; n++) {
      const round: Record<string, number> = {};
      for (let i = 0; i < ways.length; i++) {
        const [name, way] = ways[(i + n + 1) % ways.length] ?? ['ours', ours];
        const tally = new Tally();
        await way(cluster, `${name}-${n}`, tally);
        round[name] = tally.perSecond(name !== 'count');
      }
      if (n >= 0) measured.push(round as Round);
    }
    return measured;
  },
};

export const rows: readonly BenchRow[] = [row];

/** What one reader has got, and how long that took. */
class Tally {
  readonly #done = Promise.withResolvers<void>();
  #count = 0;
  #sum = 0;
  #begun = 0;
  #ended = 0;

  begin(): void {
    if (this.#begun === 0) this.#begun = performance.now();
  }

  add(count: number, sum: number): void {
    this.#count += count;
    this.#sum += sum;
    if (this.#count < EVENTS) return;
    this.#ended = performance.now();
    this.#done.resolve();
  }

  async all(): Promise<void> {
    const late = AbortSignal.timeout(WITHIN_MS);
    late.addEventListener('abort', () => this.#done.reject(new Error(`only ${this.#count} events came`)));
    await this.#done.promise;
  }

  perSecond(summed: boolean): number {
    if (this.#count !== EVENTS || (summed && this.#sum !== CHECKSUM))
      throw new Error(`${this.#count} events with the sum ${this.#sum}, not ${EVENTS} with ${CHECKSUM}`);
    return EVENTS / ((this.#ended - this.#begun) / 1000);
  }
}

async function fill(cluster: KafkaCluster): Promise<void> {
  const producer = client(cluster).producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  for (let batch = 0; batch * BATCH < EVENTS; batch++) {
    const messages = Array.from({ length: BATCH }, (_, i) => ({
      ...{ key: KEY, partition: batch % PARTITIONS },
      value: eventText(batch * BATCH + i + 1),
    }));
    await producer.send({ topic: TOPIC, messages });
  }
  await producer.disconnect();
}

/** As another program may write it, with a member that nobody needs. */
function eventText(eventID: number): string {
  const event = { eventID, userID: 40_000_000 + eventID, datasetID: `0K3fX9aB${String(eventID).padStart(8, '0')}` };
  const text = JSON.stringify({ ...event, source: 'object-store', note: '' });
  return `${text.slice(0, -2)}${'n'.repeat(EVENT_BYTES - text.length)}"}`;
}

/** The product's event log and intake; job rows are offered to a mailbox, from which somebody takes one after the other. */
async function ours(cluster: KafkaCluster, groupId: string, tally: Tally): Promise<void> {
  const mailbox = new Mailbox<JobRequest>(BATCH);
  const stop = new AbortController();
  const jobs: Pick<Jobs, 'enqueue'> = {
    async enqueue(requests) {
      tally.begin();
      for (const request of requests) if (!mailbox.offer(request)) throw new Error('the mailbox is full');
    },
  };
  const none = (): void => undefined;
  await using events = new KafkaEventLog(
    kafkaSettings(cluster, { consumers: { groupId } }),
    { next: () => Promise.reject(new Error('no ids are drawn here')) } as unknown as EventIds,
    { onDropped: none, onMalformed: none, onTaken: none, onLag: none },
    systemClock,
    silentLogger(),
  );
  const channels = { import: { channel: TOPIC, key: KEY } } as unknown as LaneChannels;
  const taking = takeEvents(events, jobs as Jobs, ['import'], channels, stop.signal);
  const emptying = (async () => {
    for (let one = await mailbox.take(stop.signal); one; one = mailbox.poll() ?? (await mailbox.take(stop.signal)))
      tally.add(1, one.eventId);
  })();
  emptying.catch(none);
  await Promise.race([tally.all(), taking]);
  stop.abort();
  await taking;
}

const eachMessage = (cluster: KafkaCluster, groupId: string, tally: Tally): Promise<void> =>
  reading(cluster, groupId, tally, (consumer) =>
    consumer.run({
      eachMessage: async ({ message }) => {
        tally.begin();
        tally.add(1, eventIdOf(message.value));
      },
    }),
  );

const eachBatch = (cluster: KafkaCluster, groupId: string, tally: Tally): Promise<void> =>
  reading(cluster, groupId, tally, (consumer) =>
    consumer.run({
      eachBatch: async ({ batch }) => {
        tally.begin();
        for (const message of batch.messages) tally.add(1, eventIdOf(message.value));
      },
    }),
  );

const count = (cluster: KafkaCluster, groupId: string, tally: Tally): Promise<void> =>
  reading(cluster, groupId, tally, (consumer) =>
    consumer.run({
      eachBatch: async ({ batch }) => {
        tally.begin();
        tally.add(batch.messages.length, 0);
      },
    }),
  );

async function reading(
  cluster: KafkaCluster,
  groupId: string,
  tally: Tally,
  run: (consumer: Consumer) => Promise<void>,
): Promise<void> {
  const consumer = client(cluster).consumer({ groupId, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  await run(consumer);
  await tally.all();
  await consumer.disconnect();
}

const eventIdOf = (value: Buffer | null): number =>
  (JSON.parse((value ?? Buffer.alloc(0)).toString()) as { readonly eventID: number }).eventID;

const client = (cluster: KafkaCluster): Kafka =>
  new Kafka({ brokers: cluster.addresses.split(','), logLevel: logLevel.NOTHING });
