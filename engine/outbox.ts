// Sends messages over a port, all those of one turn as one array: the price of a crossing is paid per post, not per
// message (one by one a thread takes about 25,000 tasks a second, in arrays of a hundred over 600,000).

import type { MessagePort } from 'node:worker_threads';

export class Outbox<Message> {
  readonly #port: MessagePort;
  readonly #refused: (message: Message, error: unknown) => void;
  #pending: Message[] = [];

  /** `refused` is told of a message that cannot be cloned; the others of its array are sent. */
  constructor(port: MessagePort, refused: (message: Message, error: unknown) => void) {
    this.#port = port;
    this.#refused = refused;
  }

  post(message: Message): void {
    if (this.#pending.push(message) > 1) return;
    // After this round of events, not after this event: small arrays would be answered by small arrays for ever.
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    const batch = this.#pending;
    this.#pending = [];
    try {
      this.#port.postMessage(batch);
    } catch {
      for (const message of batch) this.#postAlone(message);
    }
  }

  #postAlone(message: Message): void {
    try {
      this.#port.postMessage([message]);
    } catch (error) {
      this.#refused(message, error);
    }
  }
}
