// Somebody who reads a channel of a Kafka event log and remembers what came; tests wait for what they expect of it.
// As a program it is another process that reads: kafka-reader.ts ADDRESSES GROUP CHANNEL, one event id a line.

import type { EventIds } from '../../engine/adapters/events/postgres-log.ts';
import { KafkaEventLog, type KafkaLogObserver } from '../../engine/adapters/kafka/kafka-log.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { EventRecord } from '../../engine/ports/event-log.ts';
import { createLogger, type Logger, silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { type KafkaAddress, type KafkaTestSettings, kafkaSettings } from './kafka-settings.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export const KEY = 'lane-key';
const noIds = { next: () => Promise.reject(new Error('no ids are drawn here')) } as unknown as EventIds;
const unobserved: KafkaLogObserver = {
  onDropped: () => undefined,
  onMalformed: () => undefined,
  onTaken: () => undefined,
  onLag: () => undefined,
};

/** Closed at teardown. */
export function openLog(
  t: Teardown,
  at: KafkaAddress,
  settings: KafkaTestSettings = {},
  observer: Partial<KafkaLogObserver> = {},
  log: Logger = silentLogger(),
): KafkaEventLog {
  const opened = new KafkaEventLog(
    kafkaSettings(at, settings),
    noIds,
    { ...unobserved, ...observer },
    systemClock,
    log,
  );
  t.teardown(() => opened[Symbol.asyncDispose]());
  return opened;
}

export const eventOf = (channel: string, eventID: number, dataset = `dataset${eventID}`): EventRecord => ({
  channel,
  key: KEY,
  event: { eventID, userID: '42' as UserId, datasetID: dataset as DatasetId, source: 'object-store' },
});

export class Reader {
  /** Event ids in the order in which they came, each batch apart. */
  readonly batches: (readonly number[])[] = [];
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #ended: Promise<void>;

  /** @param handle takes a batch after it was noted; what it throws is a refusal */
  constructor(log: KafkaEventLog, channel: string, handle: (ids: readonly number[]) => unknown = () => undefined) {
    this.#ended = log.consume(
      [{ channel, key: KEY }],
      async (records) => {
        const ids = records.map(({ event }) => event.eventID);
        this.batches.push(ids);
        for (const look of this.#waiting) look();
        await handle(ids);
      },
      this.#stop.signal,
    );
  }

  get seen(): readonly number[] {
    return this.batches.flat();
  }

  /** Resolves once what came satisfies it. */
  async until(isEnough: (seen: readonly number[]) => boolean): Promise<void> {
    const enough = Promise.withResolvers<void>();
    const look = (): void => {
      if (isEnough(this.seen)) enough.resolve();
    };
    this.#waiting.add(look);
    look();
    await enough.promise;
    this.#waiting.delete(look);
  }

  /** Resolves when it has left. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

if (import.meta.main) {
  const [addresses = '', groupId = '', channel = ''] = process.argv.slice(2);
  const servers = addresses.split(',').map((address) => {
    const [host = '', port] = address.split(':');
    return { host, port: Number(port) };
  });
  const log = createLogger({ level: 'silent', to: { fd: 2 } });
  const events = openLog({ teardown: () => undefined }, { servers }, { consumers: { groupId } }, {}, log);
  new Reader(events, channel, (ids) => process.stdout.write(`${ids.join('\n')}\n`));
}
