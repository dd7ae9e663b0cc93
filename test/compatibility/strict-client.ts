// A client as deployed ones are: no `Api-Version`, the token in `Auth-Key`, an answer that it does not understand whole is
// refused. What it refuses is kept, with where and why.

import type { FormData } from 'undici';
import { fetch } from 'undici';
import { ANSWERS, type AnswerName, PROBLEM } from './answers.ts';

const JSON_TYPE = 'application/json';
const MOVED = 301;

export interface Understood {
  readonly status: number;
  readonly location: string | null;
  /** Of JSON; undefined without a body. */
  readonly body: unknown;
}

export class StrictClient {
  readonly #base: string;
  readonly #token: string;
  /** One line for each answer that was refused, for whatever reason. */
  readonly refused: string[] = [];
  asked = 0;

  /** @param base of the service, without trailing slash; with the path under which a proxy publishes it */
  constructor(base: string, token: string) {
    this.#base = base;
    this.#token = token;
  }

  get(name: AnswerName, path: string): Promise<Understood> {
    return this.#ask(name, 'GET', path);
  }

  send(name: AnswerName, method: string, path: string, body: FormData): Promise<Understood> {
    return this.#ask(name, method, path, body);
  }

  async #ask(name: AnswerName, method: string, path: string, body?: FormData): Promise<Understood> {
    this.asked++;
    const response = await fetch(this.#base + path, {
      method,
      redirect: 'manual',
      headers: { 'auth-key': this.#token },
      ...(body ? { body } : {}),
    });
    const content = await response.text();
    const { status } = response;
    const refuse = (why: string): void => void this.refused.push(`${method} ${path} ${status}: ${why}`);
    const location = response.headers.get('location');
    if (status === MOVED) {
      if (!location) refuse('it leads nowhere');
      return { status, location, body: undefined };
    }
    const { decode, codes } = ANSWERS[name];
    const listed: readonly number[] = codes;
    if (!response.ok && !listed.includes(status)) refuse(`unexpected server response: ${content.slice(0, 200)}`);
    const type = response.headers.get('content-type');
    if (type !== JSON_TYPE) refuse(`the media type is ${type}`);
    let value: unknown;
    try {
      value = JSON.parse(content);
    } catch {
      refuse('no JSON');
      return { status, location, body: undefined };
    }
    for (const fault of (response.ok ? decode : PROBLEM)(value, '$')) refuse(fault);
    return { status, location, body: value };
  }
}
