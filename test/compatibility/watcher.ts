// Looks at everything that people see of some datasets, again and again while a story goes on.

import { setInterval } from 'node:timers/promises';
import type { StrictClient, Understood } from './strict-client.ts';

const PERIOD_MS = 50;

export interface View {
  readonly client: StrictClient;
  readonly look: () => Promise<unknown>;
}

export class Watcher {
  readonly #ids = new Set<string>();
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  /** `upload/import/data/meta` of every dataset that was shown, each once. */
  readonly seen = new Set<string>();
  rounds = 0;
  #round = Promise.withResolvers<void>();

  /** @param owner whose datasets are watched @param others who see some of them */
  constructor(owner: StrictClient, others: readonly View[]) {
    this.#running = this.#watch(owner, others);
    this.#running.catch(() => undefined);
  }

  /** From now on this dataset is looked at, too. */
  add(dataset: string): void {
    this.#ids.add(dataset);
  }

  /** Resolves when it has looked so often, begun from now on. */
  async looked(count: number): Promise<void> {
    // The round under way may have begun before.
    for (let i = 0; i <= count; i++) await this.#round.promise;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #watch(owner: StrictClient, others: readonly View[]): Promise<void> {
    try {
      for await (const _ of setInterval(PERIOD_MS, undefined, { signal: this.#stopped.signal })) {
        await this.#look(owner, others);
        this.rounds++;
        this.#round.resolve();
        this.#round = Promise.withResolvers();
      }
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      // Who waits for a round is told; who does not hears it from `stop`.
      this.#round.promise.catch(() => undefined);
      this.#round.reject(error);
      throw error;
    }
  }

  async #look(owner: StrictClient, others: readonly View[]): Promise<void> {
    const shown = [...this.#ids].flatMap((id) => [
      owner.get('dataset', `/datasets/${id}`).then((answer) => this.#note(answer)),
      owner.get('files', `/datasets/${id}/files`),
    ]);
    const lists = [owner.get('datasets', '/datasets'), owner.get('community', '/datasets/community')];
    await Promise.all([...shown, ...lists, ...others.map(({ look }) => look())]);
  }

  #note({ status, body }: Understood): void {
    if (status !== 200) {
      this.seen.add(String(status));
      return;
    }
    const { status: block, visibility } = body as {
      readonly visibility: string;
      readonly status: {
        readonly upload: { readonly status: string };
        readonly import: { readonly status: string };
        readonly install: readonly { readonly meta: { status: string }; readonly data?: { status: string } }[];
      };
    };
    this.seen.add(visibility);
    this.seen.add(`upload ${block.upload.status}`);
    this.seen.add(`import ${block.import.status}`);
    if (block.import.status === 'complete' && block.install.length === 0) this.seen.add('install waits');
    for (const { meta, data } of block.install) this.seen.add(`install ${data?.status ?? 'none'}/${meta.status}`);
  }
}
