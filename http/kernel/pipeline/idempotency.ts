// Requests with the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): the first one creates something, and
// repetitions of it get the same answer for 24 hours (docs/idempotency.md). Only what was created is kept: a request that was
// refused or failed leaves its key free.

import type { IncomingMessage } from 'node:http';
import { stringifyJson } from '../../../engine/model/json.ts';
import type {
  IdempotencyKeys,
  KeptAnswer,
  KeyClaim,
  KeyedAnswer,
  StoredAnswer,
} from '../../../engine/ports/idempotency-keys.ts';
import { defect, transient } from '../../../engine/runtime/failure.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import type { Caller } from '../auth/authenticate.ts';
import { quote } from '../input/describe.ts';
import { badRequest, invalidInput, tooMany, underWay } from './errors.ts';
import { Fingerprint } from './fingerprint.ts';

export const KEY_HEADER = 'idempotency-key';
/** Marks the answer to a repetition. */
export const REPLAYED_HEADER = 'idempotent-replayed';

const KEPT_MS = 24 * 3_600_000;
/** How long the key of a killed process stays claimed. */
const LEASE_MS = 20_000;
const RENEW_MS = 5_000;
const STORE_MS = 10_000;
/** Keys of one caller. */
const MOST_KEYS = 10_000;
const TOO_MANY_SECONDS = 3_600;
/** A created thing is answered with its id, so no answer comes near this. */
const MAX_ANSWER_BYTES = 16 * 1024;

/** One or more visible characters, which may be quoted, as the draft has it. */
const KEY = /^(?:"([\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x5b\x5d-\x7e]{1,255}))$/;

/** The key of the request; undefined when it has none. */
export function keyOf({ headers }: IncomingMessage): string | undefined {
  const given = headers[KEY_HEADER];
  if (given === undefined) return undefined;
  const [, quoted, bare] = KEY.exec(String(given)) ?? [];
  const key = quoted ?? bare;
  if (key === undefined)
    throw badRequest(
      `header Idempotency-Key is ${quote(String(given))}: expected 1 to 255 visible ASCII characters without " and \\, which may be enclosed in quotation marks`,
    );
  return key;
}

/** Undefined for callers who cannot be told apart. */
function nameOf(caller: Caller): string | undefined {
  switch (caller.kind) {
    case 'admin':
      return caller.operator ? nameOf(caller.operator) : 'admin';
    case 'user':
    case 'guest':
      return `${caller.kind}:${caller.userId}`;
    case 'anonymous':
      return undefined;
    default:
      return caller satisfies never;
  }
}

/** The answer to a request that created something. */
export interface Created {
  readonly code: number;
  /** Absent = none. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where it is, below the public URL of the service. */
  readonly path?: string;
}

export const storedAnswer = ({ body, ...head }: Created): StoredAnswer =>
  body === undefined ? head : { ...head, body: stringifyJson(body) };

/** What `create` gets: the key of its request, which it may write in its own transaction. */
export class KeyedRequest {
  /** `create` adds all that the request asks for. */
  readonly print: Fingerprint;
  readonly #claim: KeyClaim;
  readonly #clock: Clock;
  sealed = false;

  constructor(claim: KeyClaim, print: Fingerprint, clock: Clock) {
    this.#claim = claim;
    this.print = print;
    this.#clock = clock;
  }

  /** For the transaction that creates. Afterwards the answer is not stored again. */
  seal(created: Created): KeyedAnswer {
    this.sealed = true;
    return this.answered(created);
  }

  answered(created: Created): KeyedAnswer {
    const answer = storedAnswer(created);
    if (Buffer.byteLength(answer.body ?? '') > MAX_ANSWER_BYTES)
      throw defect(`the answer to a request with a key has more than ${MAX_ANSWER_BYTES} bytes`);
    const expiresMs = this.#clock.now() + KEPT_MS;
    return { claim: this.#claim, fingerprint: this.print.digest(), answer, expiresMs };
  }
}

interface RequestWithKey extends Omit<KeyClaim, 'caller'> {
  readonly caller: Caller;
  /** Of the path. */
  readonly params: Readonly<Record<string, string>>;
}

interface Creation {
  /** Reads the rest of a repetition, for its fingerprint only. */
  readonly read: (print: Fingerprint) => Promise<void>;
  readonly create: (keyed: KeyedRequest) => Promise<Created>;
}

export class IdempotentRequests {
  readonly #keys: IdempotencyKeys;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(keys: IdempotencyKeys, clock: Clock, log: Logger) {
    this.#keys = keys;
    this.#clock = clock;
    this.#log = log;
  }

  /** Creates, or finds what an earlier request with the key has created. */
  async once(
    { caller, params, ...request }: RequestWithKey,
    { read, create }: Creation,
    signal: AbortSignal,
  ): Promise<{ readonly answer: StoredAnswer; readonly replayed: boolean }> {
    const name = nameOf(caller);
    if (name === undefined) throw defect(`${request.operation} takes a key, but its callers have no names`);
    const claim = { ...request, caller: name };
    const print = new Fingerprint();
    print.document('path', params);
    const nowMs = this.#clock.now();
    const bounds = { nowMs, untilMs: nowMs + LEASE_MS, most: MOST_KEYS };
    const claimed = await this.#keys.claim(claim, bounds, signal);
    switch (claimed.kind) {
      case 'claimed':
        return { answer: await this.#create(claim, print, create), replayed: false };
      case 'answered':
        return { answer: await repeated(claimed, request.key, print, read), replayed: true };
      case 'under way':
        throw underWay(`a request with Idempotency-Key ${quote(request.key)} is under way; try again`);
      case 'too many':
        throw tooMany(
          `you have used ${MOST_KEYS} values of Idempotency-Key within 24 hours, which is the most allowed`,
          TOO_MANY_SECONDS,
        );
      default:
        return claimed satisfies never;
    }
  }

  async #create(claim: KeyClaim, print: Fingerprint, create: Creation['create']): Promise<StoredAnswer> {
    const keyed = new KeyedRequest(claim, print, this.#clock);
    const over = new AbortController();
    const renewing = this.#renew(claim, over.signal);
    try {
      const created = await create(keyed);
      if (!keyed.sealed) await this.#store(keyed.answered(created));
      return storedAnswer(created);
    } catch (error) {
      await this.#release(claim);
      throw error;
    } finally {
      over.abort();
      await renewing;
    }
  }

  /** If the claim was lost meanwhile, another request has created the same. */
  async #store(answer: KeyedAnswer): Promise<void> {
    using limit = this.#deadline();
    if (!(await this.#keys.answer(answer, limit.signal)))
      this.#log.warn({ operation: answer.claim.operation }, 'a request took so long that its key was lost');
  }

  async #release(claim: KeyClaim): Promise<void> {
    using limit = this.#deadline();
    try {
      await this.#keys.release(claim, limit.signal);
    } catch (err) {
      this.#log.warn({ err, operation: claim.operation }, 'a key could not be released; it is free after its lease');
    }
  }

  async #renew(claim: KeyClaim, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      try {
        await this.#clock.sleep(RENEW_MS, over);
        await this.#keys.renew(claim, this.#clock.now() + LEASE_MS, over);
      } catch {
        // It is over, or the database is away: then nothing can be created either.
      }
    }
  }

  #deadline(): ReturnType<typeof deadline> {
    return deadline(this.#clock, STORE_MS, undefined, () => transient(`no answer within ${STORE_MS} ms`));
  }
}

async function repeated(
  { answer, fingerprint }: KeptAnswer,
  key: string,
  print: Fingerprint,
  read: Creation['read'],
): Promise<StoredAnswer> {
  await read(print);
  if (print.digest() === fingerprint) return answer;
  const message = `header Idempotency-Key is ${quote(key)}, which belongs to another request of yours; send a new value with a new request`;
  throw invalidInput(message, { general: [message], byKey: {} });
}
