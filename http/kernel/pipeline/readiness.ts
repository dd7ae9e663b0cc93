// Whether a front end can serve requests: it has started, is not draining, and its databases respond. /ready follows the beginning
// and the end of an outage within two seconds: a reading is valid for FRESH_MS; after that, callers wait for the next one, which
// takes at most PROBE_MS.

import { transient } from '../../../engine/runtime/failure.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';

const FRESH_MS = 300;
const PROBE_MS = 1_400;

export interface Database {
  /** Resolves when the database responds. It must not wait for a connection that others hold. */
  probe(signal: AbortSignal): Promise<void>;
}

interface ReadinessOptions {
  readonly started: () => boolean;
  readonly databases: readonly Database[];
  readonly clock: Clock;
}

export const DATABASE_AWAY = 'a database of the service cannot be reached';

export class Readiness {
  readonly #options: ReadinessOptions;
  #readMs = Number.NEGATIVE_INFINITY;
  #lack: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Why requests cannot be served, in words for everybody; undefined when they can. Concurrent callers share a reading. */
  async lack(): Promise<string | undefined> {
    const { started, clock } = this.#options;
    if (!started()) return 'the service is starting or stopping';
    if (clock.now() - this.#readMs >= FRESH_MS) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#lack;
  }

  async #read(): Promise<void> {
    const { databases, clock } = this.#options;
    using limit = deadline(clock, PROBE_MS, undefined, () => transient(`no response within ${PROBE_MS} ms`));
    const probes = await Promise.allSettled(
      databases.map((database) => unlessAborted(database.probe(limit.signal), limit.signal)),
    );
    this.#lack = probes.some(({ status }) => status === 'rejected') ? DATABASE_AWAY : undefined;
    this.#readMs = clock.now();
  }
}
