// One request and its answer, as the pipeline sees them. Signal and log are made when they are asked for: most requests
// are over before anybody does. Disposed of when the request is over; the server's end aborts its signal no more then.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { aborted } from '../engine/failure.ts';
import { JoinedSignal } from '../engine/joined-signal.ts';
import type { Logger } from '../engine/log.ts';
import type { Route } from './route.ts';

const TRACE_ID = /^[A-Za-z0-9-]{1,64}$/;

export class Exchange implements Disposable {
  readonly id = randomUUID();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Once it is found. */
  route: Route | undefined;
  readonly #stopped: AbortSignal;
  readonly #serverLog: Logger;
  #until: JoinedSignal | undefined;
  #over = false;
  #log: Logger | undefined;

  /** @param stopped the server gives up what is under way */
  constructor(request: IncomingMessage, response: ServerResponse, stopped: AbortSignal, log: Logger) {
    this.request = request;
    this.response = response;
    this.#stopped = stopped;
    this.#serverLog = log;
  }

  /** The connection was lost before the answer was out. */
  get clientGone(): boolean {
    return this.response.closed && !this.response.writableFinished;
  }

  /** Aborts when the client goes away or the server gives up. */
  get signal(): AbortSignal {
    this.#until ??= this.#openSignal();
    return this.#until.signal;
  }

  /** With the request's id, and the caller's own trace id when it is one. */
  get log(): Logger {
    const { traceid: trace } = this.request.headers;
    const known = typeof trace === 'string' && TRACE_ID.test(trace);
    this.#log ??= this.#serverLog.child(known ? { request: this.id, trace } : { request: this.id });
    return this.#log;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#until?.[Symbol.dispose]();
  }

  #openSignal(): JoinedSignal {
    const until = new JoinedSignal(this.#over ? undefined : this.#stopped);
    const onClose = (): void => {
      if (!this.response.writableFinished) until.abort(aborted('the client went away'));
    };
    if (this.response.closed) onClose();
    else this.response.once('close', onClose);
    return until;
  }
}
