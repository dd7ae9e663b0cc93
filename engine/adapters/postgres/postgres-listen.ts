// LISTEN on one connection for any number of listeners. Notifications are only hints: whenever some may have been missed, every
// hearer is called with undefined and must check for itself.

import type pg from 'pg';
import type { Logger } from '../../runtime/log.ts';

/** Called with the payload of a notification, or with undefined when notifications may have been missed. */
export type Hear = (payload: string | undefined) => void;

export class PostgresListen {
  readonly #log: Logger;
  readonly #listeners = new Map<string, Set<Hear>>();
  /** Channels that the current connection listens to. */
  readonly #heard = new Set<string>();
  #client: pg.Client | undefined;
  /** Serializes statements on the connection. */
  #turn: Promise<void> = Promise.resolve();

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Calls `hear` for every notification, and once with undefined as soon as LISTEN is active. A check after that call sees
   * everything notified before; later changes are notified. The returned function stops that.
   */
  listen(channel: string, hear: Hear): () => void {
    // A new function for each call, so that the same `hear` can be registered twice.
    const hearer: Hear = (payload) => hear(payload);
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(hearer));
    this.#inTurn(async () => {
      await this.#follow(channel);
      if (this.#heard.has(channel)) this.#call(hearer, channel, undefined);
    });
    return () => {
      if (!listeners.delete(hearer)) return;
      this.#inTurn(() => this.#follow(channel));
    };
  }

  /** Switches to a new connection: listens to every channel there, then calls every hearer once. */
  attach(client: pg.Client): void {
    this.#client = client;
    this.#heard.clear();
    client.on('notification', ({ channel, payload }) => {
      if (client === this.#client) this.#callAll(channel, payload ?? '');
    });
    this.#inTurn(async () => {
      for (const channel of this.#listeners.keys()) {
        await this.#follow(channel);
        if (this.#heard.has(channel)) this.#callAll(channel, undefined);
      }
    });
  }

  /** Call it when the connection is gone. */
  detach(): void {
    this.#client = undefined;
    this.#heard.clear();
  }

  /** Listens to the channel if it has listeners; otherwise stops. */
  async #follow(channel: string): Promise<void> {
    const client = this.#client;
    const wanted = (this.#listeners.get(channel)?.size ?? 0) > 0;
    if (!client || wanted === this.#heard.has(channel)) return;
    await client.query(`${wanted ? 'listen' : 'unlisten'} ${client.escapeIdentifier(channel)}`);
    if (client !== this.#client) return;
    if (wanted) this.#heard.add(channel);
    else this.#heard.delete(channel);
  }

  #inTurn(step: () => Promise<void>): void {
    // If a statement fails, the connection is lost: attach() repeats everything on the next one.
    this.#turn = this.#turn.then(step).catch((err) => this.#log.debug({ err }, 'LISTEN was interrupted'));
  }

  #callAll(channel: string, payload: string | undefined): void {
    for (const hear of [...(this.#listeners.get(channel) ?? [])]) this.#call(hear, channel, payload);
  }

  #call(hear: Hear, channel: string, payload: string | undefined): void {
    if (!this.#listeners.get(channel)?.has(hear)) return;
    try {
      hear(payload);
    } catch (err) {
      this.#log.error({ err, channel }, 'a notification handler failed');
    }
  }
}
