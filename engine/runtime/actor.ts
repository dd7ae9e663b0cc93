// An actor: a bounded mailbox and one loop that handles its messages one after the other.
//   running    offer accepts messages, the loop handles them; a message that fails is logged and affects no other
//   draining   offer refuses; messages in the mailbox are still handled
//   hurried    the signal of the message being handled is aborted, the others are dropped and counted in the log

import { Mailbox } from '../jobs/mailbox.ts';
import { kindOf, messageOf } from './failure.ts';
import { Lifecycle, type LifecycleOptions } from './lifecycle.ts';

export interface ActorOptions<Message> extends LifecycleOptions {
  /** Maximum number of waiting messages. */
  readonly capacity: number;
  readonly handle: (message: Message, signal: AbortSignal) => Promise<void>;
}

export class Actor<Message> extends Lifecycle {
  readonly #mailbox: Mailbox<Message>;
  readonly #handle: ActorOptions<Message>['handle'];

  constructor(options: ActorOptions<Message>) {
    super(options);
    this.#mailbox = new Mailbox(options.capacity);
    this.#handle = options.handle;
    this.draining.addEventListener('abort', () => this.#mailbox.close(), { once: true });
  }

  /** False when the mailbox is full or the actor no longer accepts messages. */
  offer(message: Message): boolean {
    return this.#mailbox.offer(message);
  }

  /** Number of waiting messages. */
  get size(): number {
    return this.#mailbox.size;
  }

  protected override async open(): Promise<void> {}

  protected override async work(): Promise<void> {
    while (!this.hurried.aborted) {
      const message = await this.#mailbox.take(this.hurried).catch(() => undefined);
      if (message === undefined) break;
      await this.#attend(message);
    }
    const dropped = this.#mailbox.drain().length;
    if (dropped > 0) this.log.warn({ dropped }, 'messages were dropped at the end');
  }

  async #attend(message: Message): Promise<void> {
    try {
      await this.#handle(message, this.hurried);
    } catch (error) {
      const kind = kindOf(error);
      if (kind === 'aborted') this.log.info({ err: messageOf(error) }, 'a message was given up');
      else this.log.error({ kind, err: messageOf(error) }, 'a message failed');
    }
  }
}
