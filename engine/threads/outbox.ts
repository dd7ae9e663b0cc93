// Sends messages over a port, all those of one event as one array: the price of a crossing is paid per post, not per
// message (one by one a thread takes about 25,000 tasks a second, in arrays of a hundred over 600,000).
//   MANY or more parts   go when the event is over with all that followed from it at once
//   fewer                wait for the other events of the same turn, and of more turns for as long as `holds` says so: or small
//                        arrays were answered by small arrays for ever

import type { MessagePort } from 'node:worker_threads';

export interface OutboxOptions<Message> {
  /** The same as messages of one part each: what is to blame when a message cannot be cloned. */
  readonly parts: (message: Message) => readonly Message[];
  /** How many parts a message has. */
  readonly count: (message: Message) => number;
  /** Told of a part that cannot be cloned; all others are sent. */
  readonly refused: (part: Message, error: unknown) => void;
  /** Whether so few parts wait another turn: answers are about to come which more will follow from. */
  readonly holds: (parts: number) => boolean;
  /** Told of how many parts were what has just gone. */
  readonly sent: (parts: number) => void;
}

export const MANY = 4;

export class Outbox<Message> {
  readonly #port: MessagePort;
  readonly #options: OutboxOptions<Message>;
  #pending: Message[] = [];

  constructor(port: MessagePort, options: OutboxOptions<Message>) {
    this.#port = port;
    this.#options = options;
  }

  /** The message posted last, while it has not been sent: it may still be added to. */
  get last(): Message | undefined {
    return this.#pending.at(-1);
  }

  post(message: Message): void {
    if (this.#pending.push(message) > 1) return;
    // A tick that is asked for in a microtask comes after all microtasks, those of later promises too.
    queueMicrotask(() => process.nextTick(() => this.#eventOver()));
  }

  #eventOver(): void {
    const parts = this.#parts();
    if (parts >= MANY) this.#flush(parts);
    else setImmediate(() => this.#turnOver());
  }

  #turnOver(): void {
    const parts = this.#parts();
    if (parts < MANY && this.#options.holds(parts)) setImmediate(() => this.#turnOver());
    else this.#flush(parts);
  }

  #parts(): number {
    let parts = 0;
    for (const message of this.#pending) parts += this.#options.count(message);
    return parts;
  }

  #flush(parts: number): void {
    const batch = this.#pending;
    this.#pending = [];
    try {
      this.#port.postMessage(batch);
    } catch {
      for (const message of batch) for (const part of this.#options.parts(message)) this.#postAlone(part);
    }
    this.#options.sent(parts);
  }

  #postAlone(part: Message): void {
    try {
      this.#port.postMessage([part]);
    } catch (error) {
      this.#options.refused(part, error);
    }
  }
}
