// One request and its answer, as the pipeline sees them. Signal and log are made when they are asked for: most requests
// are over before anybody does. Disposed of when the request is over; the server's end aborts its signal no more then.

import type { IncomingMessage } from 'node:http';
import {
  newTraceparent,
  parseTraceparent,
  passedOn,
  type Traceparent,
  traceIdOf,
} from '../../../engine/model/traceparent.ts';
import { aborted } from '../../../engine/runtime/failure.ts';
import type { LinkedControllers } from '../../../engine/runtime/linked-controllers.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import type { HeldResponse } from '../answers/held-response.ts';
import { ANONYMOUS, type Caller } from '../auth/caller.ts';
import type { Concerned } from '../pipeline/request-audit.ts';
import type { Route } from '../pipeline/route.ts';

/** The header `traceid` of clients that know no Trace Context. */
const CLIENT_TRACE = /^[A-Za-z0-9-]{1,64}$/;

export class RequestScope implements Disposable {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: HeldResponse;
  /** Once it is found. */
  route: Route | undefined;
  /** Of the path. */
  params: Readonly<Record<string, string>> = {};
  /** Once it is known, be it let in or not. */
  caller: Caller = ANONYMOUS;
  /** The caller may ask for the route; it is up to its handler now. */
  admitted = false;
  /** It has its row in the audit trail. */
  recorded = false;
  /** What its handler says for that row. */
  concerned: Concerned = {};
  readonly #stopped: LinkedControllers;
  readonly #serverLog: Logger;
  #until: AbortController | undefined;
  #over = false;
  #log: Logger | undefined;
  #traceparent: Traceparent | undefined;

  /** @param stopped aborted when the server gives up what is under way */
  constructor(id: string, request: IncomingMessage, response: HeldResponse, stopped: LinkedControllers, log: Logger) {
    this.id = id;
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

  /** What others are told who work for this request: of the caller's trace, or of a new one when it sent none that is good. */
  get traceparent(): Traceparent {
    if (this.#traceparent) return this.#traceparent;
    const { traceparent } = this.request.headers;
    const given = parseTraceparent(typeof traceparent === 'string' ? traceparent : undefined);
    this.#traceparent = given ? passedOn(given) : newTraceparent();
    return this.#traceparent;
  }

  /** With the request's id and its trace, and the client's own `traceid` when it is one. */
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
