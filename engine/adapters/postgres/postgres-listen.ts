// LISTEN on one connection for any number of hearers. Notifications are hints that something is there, never the
// thing itself: whenever some may have been missed, every hearer is called with undefined and looks for itself.

import type pg from 'pg';
import type { Logger } from '../../runtime/log.ts';

/** Called with the payload of a notification; with undefined when notifications may have been missed. */
export type Hear = (payload: string | undefined) => void;

export class PostgresListen {
  readonly #log: Logger;
  readonly #hearers = new Map<string, Set<Hear>>();
  /** Channels that the current connection listens to. */
  readonly #heard = new Set<string>();
  #client: pg.Client | undefined;
  /** One statement at a time on the connection. */
  #turn: Promise<void> = Promise.resolve();

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Calls `hear` for every notification, and once with undefined as soon as the channel is listened to: whatever was
   * notified before that call is found by looking, whatever comes after it is heard. The returned function stops that.
   */
  listen(channel: string, hear: Hear): () => void {
    // A hearer of its own each time, so that the same function may listen twice.
    const hearer: Hear = (payload) => hear(payload);
    const hearers = this.#hearers.get(channel) ?? new Set();
    this.#hearers.set(channel, hearers.add(hearer));
    this.#inTurn(async () => {
      await this.#follow(channel);
      if (this.#heard.has(channel)) this.#call(hearer, channel, undefined);
    });
    return () => {
      if (!hearers.delete(hearer)) return;
      this.#inTurn(() => this.#follow(channel));
    };
  }

  /** Moves to a new connection: listens to every channel there, then calls every hearer once. */
  attach(client: pg.Client): void {
    this.#client = client;
    this.#heard.clear();
    client.on('notification', ({ channel, payload }) => {
      if (client === this.#client) this.#callAll(channel, payload ?? '');
    });
    this.#inTurn(async () => {
      for (const channel of this.#hearers.keys()) {
        await this.#follow(channel);
        if (this.#heard.has(channel)) this.#callAll(channel, undefined);
      }
    });
  }

  /** The connection is gone. */
  detach(): void {
    this.#client = undefined;
    this.#heard.clear();
  }

  /** Listens to the channel when somebody wants to hear it, else stops. */
  async #follow(channel: string): Promise<void> {
    const client = this.#client;
    const wanted = (this.#hearers.get(channel)?.size ?? 0) > 0;
    if (!client || wanted === this.#heard.has(channel)) return;
    await client.query(`${wanted ? 'listen' : 'unlisten'} ${client.escapeIdentifier(channel)}`);
    if (client !== this.#client) return;
    if (wanted) this.#heard.add(channel);
    else this.#heard.delete(channel);
  }

  #inTurn(step: () => Promise<void>): void {
    // A statement that fails has lost its connection: attach() does it all again on the next one.
    this.#turn = this.#turn.then(step).catch((err) => this.#log.debug({ err }, 'listening was cut off'));
  }

  #callAll(channel: string, payload: string | undefined): void {
    for (const hear of [...(this.#hearers.get(channel) ?? [])]) this.#call(hear, channel, payload);
  }

  #call(hear: Hear, channel: string, payload: string | undefined): void {
    if (!this.#hearers.get(channel)?.has(hear)) return;
    try {
      hear(payload);
    } catch (err) {
      this.#log.error({ err, channel }, 'a hearer of notifications failed');
    }
  }
}
