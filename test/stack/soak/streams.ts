// Event streams that stay open for the whole run, as those of consoles do: of each user, one at each process. A stream that
// breaks is opened again at the same process, after the last event that it has.

import { setMaxListeners } from 'node:events';
import { request } from 'undici';
import { systemClock } from '../../../engine/runtime/time.ts';
import { framesOf } from '../../support/event-frames.ts';
import type { ServeProcess } from '../scale-out/serve-process.ts';
import type { Dataset, Model } from './model.ts';

const AGAIN_MS = 500;
/** For events of the last changes to come, at the end. */
const LAST_MS = 30_000;
const never = new AbortController().signal;

interface Told {
  readonly id: number;
  readonly kind: string;
  readonly dataset: string;
}

interface Stream {
  readonly user: string;
  readonly serve: ServeProcess;
  readonly token: string;
  /** Of datasets of the user. */
  readonly told: Told[];
}

export class Streams {
  readonly #streams: readonly Stream[];
  readonly #over = new AbortController();
  readonly #running: Promise<unknown>;
  connections = 0;

  constructor(processes: readonly ServeProcess[], users: readonly { readonly user: string; readonly token: string }[]) {
    setMaxListeners(0, this.#over.signal);
    this.#streams = processes.flatMap((serve) => users.map((one) => ({ ...one, serve, told: [] })));
    this.#running = Promise.all(this.#streams.map((stream) => this.#follow(stream)));
  }

  /** Resolves when all have what the model says, or have had time for it; then ends them. */
  async end(model: Model): Promise<readonly string[]> {
    const begun = systemClock.now();
    let wrong = this.#wrong(model);
    while (wrong.length > 0 && systemClock.now() - begun < LAST_MS) {
      await systemClock.sleep(AGAIN_MS, never);
      wrong = this.#wrong(model);
    }
    this.#over.abort();
    await this.#running;
    return wrong;
  }

  #wrong(model: Model): readonly string[] {
    const firsts = new Map<string, string>();
    return this.#streams.flatMap(({ user, serve, told }) => {
      const at = `user ${user} at ${serve.name}`;
      const all = told.map(({ id, kind, dataset }) => `${id} ${kind} ${dataset}`).join();
      const first = firsts.get(user) ?? all;
      firsts.set(user, first);
      const own = [...model.datasets.values()].filter((one) => one.owner === user);
      return [
        ...(told.every(({ id }, n) => n === 0 || (told[n - 1]?.id ?? 0) < id) ? [] : [`${at}: not in order`]),
        ...(all === first ? [] : [`${at}: not what another stream has`]),
        ...own.flatMap((dataset) => untold(at, dataset, told)),
        ...told.filter(({ dataset }) => !model.datasets.has(dataset)).map(({ dataset }) => `${at}: of ${dataset}`),
      ];
    });
  }

  async #follow(stream: Stream): Promise<void> {
    for (let last = '0'; !this.#over.signal.aborted; )
      try {
        const { statusCode, body } = await request(`${stream.serve.url}/events`, {
          headers: {
            authorization: `Bearer ${stream.token}`,
            accept: 'text/event-stream',
            'last-event-id': last,
          },
          signal: this.#over.signal,
          bodyTimeout: 60_000,
        });
        this.connections++;
        if (statusCode !== 200) throw new Error(`the stream was answered ${statusCode}`);
        for await (const { id, event, data } of framesOf(body)) {
          last = id ?? last;
          const { datasetId, owner } = (data ?? {}) as { datasetId?: string; owner?: unknown };
          if (datasetId !== undefined && String(owner) === stream.user)
            stream.told.push({ id: Number(id), kind: event ?? '', dataset: datasetId });
        }
      } catch {
        if (!this.#over.signal.aborted) await systemClock.sleep(AGAIN_MS, never);
      }
  }
}

function untold(at: string, { id, state }: Dataset, told: readonly Told[]): readonly string[] {
  const count = (kind: string): number => told.filter((one) => one.dataset === id && one.kind === kind).length;
  const accepted = count('accepted') === 1 ? [] : [`${at}: ${id} was accepted ${count('accepted')} times`];
  const installed = state !== 'live' || count('installed') > 0 ? [] : [`${at}: ${id} was never installed`];
  return [...accepted, ...installed];
}
