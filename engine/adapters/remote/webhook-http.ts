// Sends the messages of webhooks over HTTP(S), under the address rules of uploads by URL (fetchable-addresses.ts). A redirect is
// an answer like any other: followed, it would lead a signed message elsewhere. One connection per message, not kept alive; no
// proxy. Of an answer only the status counts.

import { Agent, type Dispatcher } from 'undici';
import type { PostResult, WebhookSender } from '../../ports/webhooks.ts';
import { messageOf, transient } from '../../runtime/failure.ts';
import { type Clock, deadline, systemClock } from '../../runtime/time.ts';
import {
  AddressRefused,
  FetchableAddresses,
  guardedConnector,
  type Resolve,
  resolveBySystem,
} from './fetchable-addresses.ts';

export interface WebhookHttpOptions {
  /** Permitted ports of public addresses. */
  readonly ports: readonly number[];
  /** Address ranges outside of the public internet that are permitted too, at any port. */
  readonly allow: readonly string[];
  /** For the name lookup and the connection together. */
  readonly connectMs: number;
  /** For everything from the lookup to the end of the answer. */
  readonly timeoutMs: number;
}

interface WebhookHttpParts {
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
  readonly clock?: Clock;
}

/** Bytes of an answer's body that are read, so that the receiver sees an orderly end. */
const MAX_BODY_BYTES = 16 * 1024;

export class WebhookHttp implements WebhookSender, AsyncDisposable {
  readonly #options: WebhookHttpOptions;
  readonly #clock: Clock;
  readonly #agent: Agent;

  constructor(options: WebhookHttpOptions, { resolve = resolveBySystem, clock = systemClock }: WebhookHttpParts = {}) {
    this.#options = options;
    this.#clock = clock;
    this.#agent = new Agent({
      connect: guardedConnector(new FetchableAddresses(options.allow, options.ports), resolve, options.connectMs),
      // The deadline of the whole call is shorter.
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 0,
    });
  }

  async post(
    url: URL,
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<PostResult> {
    const { timeoutMs } = this.#options;
    using limit = deadline(this.#clock, timeoutMs, signal, () => transient(`no answer within ${timeoutMs} ms`));
    try {
      const answer = await this.#agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'longshore', ...headers },
        body,
        signal: limit.signal,
      });
      await readAway(answer.body, limit.signal);
      return { kind: 'answered', status: answer.statusCode };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'failed', message: this.#wordsOf(limit.signal.aborted ? limit.signal.reason : error) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  /** The same words whether a name does not exist, is internal, or the port is not allowed (remote-http.ts). */
  #wordsOf(error: unknown): string {
    if (!(error instanceof AddressRefused)) return messageOf(error);
    const { ports } = this.#options;
    return `${error.hostname} is not on the public internet at one of the ports ${ports.join(', ')}, and not allowed by restService.webhooks.allow`;
  }
}

/** What happens to the body does not matter: the status was received. */
async function readAway(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<void> {
  body.on('error', () => undefined);
  await body.dump({ limit: MAX_BODY_BYTES, signal }).catch(() => undefined);
  body.destroy();
}
