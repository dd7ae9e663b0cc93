// Requests as a patient client makes them: through one process after another, again with the same key until there is an answer
// that says what became of it.

import { type BodyInit, fetch, type Headers } from 'undici';
import { systemClock } from '../../../engine/runtime/time.ts';
import type { ServeProcess, Service } from '../scale-out/serve-process.ts';

const AGAIN_MS = 500;
/** For one answer: longer than any service is away. */
const PATIENCE_MS = 120_000;
/** For all attempts: something is broken. */
const GIVE_UP_MS = 600_000;
/** What may be answered instead while services are away, broken uploads still count, or an edit is not in the store yet. */
const COME_AGAIN: ReadonlySet<number> = new Set([423, 425, 429, 503]);
const JSON_TYPE = { 'content-type': 'application/json' };
const never = new AbortController().signal;

export interface Request {
  /** What it is counted as. */
  readonly kind: string;
  readonly service?: Service;
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Made for each attempt. */
  readonly body?: () => BodyInit;
  readonly json?: unknown;
  /** Statuses that end it. Of all others, those that do not ask to come again are wrong. */
  readonly ends: readonly number[];
  /** Further ones that ask to come again. */
  readonly again?: readonly number[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** It is among the answers that are wrong. */
export class RefusedError extends Error {}

export class Calls {
  /** Answers that nobody may get, whatever is away. */
  readonly wrong: string[] = [];
  /** By kind, then by status; connections that broke are 0. */
  readonly answers: Record<string, Record<string, number>> = {};
  /** By kind, in milliseconds. */
  readonly times: Record<string, number[]> = {};
  readonly #processes: readonly ServeProcess[];
  #turn = 0;

  constructor(processes: readonly ServeProcess[]) {
    this.#processes = processes;
  }

  async json<T>(request: Request): Promise<{ readonly status: number; readonly body: T }> {
    const { status, bytes } = await this.ask(request);
    return { status, body: (bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined) as T };
  }

  async ask(request: Request): Promise<Answer> {
    for (const begun = systemClock.now(); systemClock.now() - begun < GIVE_UP_MS; ) {
      const answer = await this.try(request);
      if (answer && request.ends.includes(answer.status)) return answer;
      // Made again, it would be refused again.
      if (answer && isWrong(request, answer) && answer.status < 500) throw new RefusedError();
      await systemClock.sleep(AGAIN_MS, never);
    }
    throw new Error(`${request.method} ${request.path} got no answer within ${GIVE_UP_MS} ms`);
  }

  /** Undefined when the connection broke. */
  async try(request: Request): Promise<Answer | undefined> {
    const { kind, service = 'installer', method, path, token } = request;
    const serve = this.#processes[this.#turn++ % this.#processes.length];
    if (!serve) throw new Error('there is no process');
    const isJson = request.json !== undefined;
    const body = isJson ? JSON.stringify(request.json) : request.body?.();
    const begun = systemClock.now();
    let answer: Answer | undefined;
    try {
      const response = await fetch(serve.urlOf(service) + path, {
        method,
        headers: { authorization: `Bearer ${token}`, ...request.headers, ...(isJson ? JSON_TYPE : {}) },
        ...(body === undefined ? {} : { body, duplex: 'half' }),
        redirect: 'manual',
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      answer = { status: response.status, headers: response.headers, bytes };
    } catch {
      // Killed, paused, or not there again yet.
    }
    const counted = this.answers[kind] ?? {};
    this.answers[kind] = counted;
    counted[answer?.status ?? 0] = (counted[answer?.status ?? 0] ?? 0) + 1;
    if (!answer) return undefined;
    this.times[kind] = this.times[kind] ?? [];
    this.times[kind].push(systemClock.now() - begun);
    if (isWrong(request, answer))
      this.wrong.push(`${serve.name} ${method} ${path}: ${answer.status} ${answer.bytes.toString().slice(0, 300)}`);
    return answer;
  }
}

const isWrong = ({ ends, again = [] }: Request, { status, headers }: Answer): boolean =>
  ![...ends, ...again, ...COME_AGAIN].includes(status) && !(status === 409 && headers.has('retry-after'));
