// Enqueues a daemon's jobs on a lane in batches of several hundred. Each dataset gets its own event id.

import type { EventSource, LaneName } from '../../engine/model/event.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { EventLog } from '../../engine/ports/event-log.ts';
import type { JobRequest, Jobs } from '../../engine/ports/jobs.ts';

const SIZE = 500;

export class JobBatch {
  /** Jobs per batch. */
  readonly size = SIZE;
  readonly #ports: { readonly jobs: Pick<Jobs, 'enqueue'>; readonly events: Pick<EventLog, 'nextEventId'> };
  readonly #lane: LaneName;
  readonly #source: EventSource;
  readonly #signal: AbortSignal;
  #requests: JobRequest[] = [];
  #handedOver = 0;

  constructor(
    ports: { readonly jobs: Pick<Jobs, 'enqueue'>; readonly events: Pick<EventLog, 'nextEventId'> },
    lane: LaneName,
    source: EventSource,
    signal: AbortSignal,
  ) {
    this.#ports = ports;
    this.#lane = lane;
    this.#source = source;
    this.#signal = signal;
  }

  /** Number of jobs written to the job table so far. */
  get handedOver(): number {
    return this.#handedOver;
  }

  async add({ owner, dataset }: DatasetAddress): Promise<void> {
    const eventId = await this.#ports.events.nextEventId(this.#signal);
    this.#requests.push({ lane: this.#lane, dataset, owner, eventId, source: this.#source });
    if (this.#requests.length >= SIZE) await this.flush();
  }

  /** Writes the jobs of the last, incomplete batch. Must be called at the end. */
  async flush(): Promise<void> {
    if (this.#requests.length === 0) return;
    await this.#ports.jobs.enqueue(this.#requests, this.#signal);
    this.#handedOver += this.#requests.length;
    this.#requests = [];
  }
}
