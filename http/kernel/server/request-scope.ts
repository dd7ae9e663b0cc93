// The scope of one request: request, response, and what the pipeline knows about them. Signal and logger are created on first
// use, because most requests need neither. It is disposed when the request is over; after that, the server no longer aborts its
// signal.

import type { IncomingMessage } from 'node:http';
import {
  newTraceparent,
  parseTraceparent,
  passedOn,
  type Traceparent,
  traceIdOf,
} from '../../../engine/model/traceparent.ts';
import { aborted } from '../../../engine/runtime/failure.ts';
import type { LinkedControllers } from '../../../engine/runtime/joined-signal.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import type { HeldResponse } from '../answers/held-response.ts';
import { ANONYMOUS, type Caller } from '../auth/authenticate.ts';
import type { Concerned } from '../pipeline/request-audit.ts';
import type { Route } from '../pipeline/route.ts';

/** The format of the header `traceid`, sent by clients without Trace Context. */
const CLIENT_TRACE = /^[A-Za-z0-9-]{1,64}$/;

export class RequestScope implements Disposable {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: HeldResponse;
  /** Set once it is found. */
  route: Route | undefined;
  /** The parameters in the path. */
  params: Readonly<Record<string, string>> = {};
  /** Set once the caller is known, even if it is refused. */
  caller: Caller = ANONYMOUS;
  /** The caller may call the route. From now on, its handler decides. */
  admitted = false;
  /** The request has its row in the audit trail. */
  recorded = false;
  /** Fields of that row that the handler has set. */
  concerned: Concerned = {};
  readonly #stopped: LinkedControllers;
  readonly #serverLog: Logger;
  #until: AbortController | undefined;
  #over = false;
  #log: Logger | undefined;
  #traceparent: Traceparent | undefined;

  /** @param stopped aborts when the server gives up requests under way */
  constructor(id: string, request: IncomingMessage, response: HeldResponse, stopped: LinkedControllers, log: Logger) {
    this.id = id;
    this.request = request;
    this.response = response;
    this.#stopped = stopped;
    this.#serverLog = log;
  }

  /** True when the connection was lost before the response was sent. */
  get clientGone(): boolean {
    return this.response.closed && !this.response.writableFinished;
  }

  /** Aborts when the client disconnects or the server gives up. */
  get signal(): AbortSignal {
    this.#until ??= this.#openSignal();
    return this.#until.signal;
  }

  /** The trace context for calls on behalf of this request: in the caller's trace or, without a valid one, in a new trace. */
  get traceparent(): Traceparent {
    if (this.#traceparent) return this.#traceparent;
    const { traceparent } = this.request.headers;
    const given = parseTraceparent(typeof traceparent === 'string' ? traceparent : undefined);
    this.#traceparent = given ? passedOn(given) : newTraceparent();
    return this.#traceparent;
  }

  /** A logger with the ids of the request and its trace, and with the client's `traceid` if it is valid. */
  get log(): Logger {
    if (this.#log) return this.#log;
    const { traceid } = this.request.headers;
    const known = typeof traceid === 'string' && CLIENT_TRACE.test(traceid);
    const about = { request: this.id, trace: traceIdOf(this.traceparent) };
    this.#log = this.#serverLog.child(known ? { ...about, traceid } : about);
    return this.#log;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    if (this.#until) this.#stopped.delete(this.#until);
  }

  #openSignal(): AbortController {
    const until = new AbortController();
    if (!this.#over) this.#stopped.add(until);
    const onClose = (): void => {
      if (!this.response.writableFinished) until.abort(aborted('the client went away'));
    };
    if (this.response.closed) onClose();
    else this.response.once('close', onClose);
    return until;
  }
}
