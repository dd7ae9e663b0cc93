// The head of an answer until it is written. What is the same for every answer is only kept here: an answer that is written
// at once (JSON, which most are) hands all of its headers to the platform in one piece, which takes a sixth of the time that
// setting one after the other does.
//   held     headers are in our list
//   handed   whoever wants to set more, or streams, has asked for the response: they are all set there

import type { IncomingMessage, ServerResponse } from 'node:http';
import { writeWholeHead } from './whole-head.ts';

export class AnswerHead {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #date: string;
  /** Names in lower case and values in turn; undefined once handed. */
  #held: string[] | undefined;

  /**
   * @param date the time as a header has it
   * @param headers of every answer, names in lower case and values in turn
   */
  constructor(request: IncomingMessage, response: ServerResponse, date: string, headers: string[] = []) {
    this.#request = request;
    this.#response = response;
    this.#date = date;
    this.#held = headers;
  }

  /** @param name in lower case, each but once; what is added here is of the service, never of a handler */
  add(name: string, value: string): void {
    if (this.#held) this.#held.push(name, value);
    else this.#response.setHeader(name, value);
  }

  has(name: string): boolean {
    if (!this.#held) return this.#response.hasHeader(name);
    for (let i = 0; i < this.#held.length; i += 2) if (this.#held[i] === name) return true;
    return false;
  }

  /** The response, with all headers set. */
  get response(): ServerResponse {
    const held = this.#held;
    this.#held = undefined;
    if (held) for (let i = 0; i < held.length; i += 2) this.#response.setHeader(held[i] ?? '', held[i + 1] ?? '');
    return this.#response;
  }

  /**
   * Writes the status and all headers, these as the last. What is given here must not be among those that were added, must
   * have been checked to be a header, and the length of the body is one of them.
   */
  write(code: number, headers: readonly string[]): ServerResponse {
    const response = this.#response;
    if (this.#held) {
      if (writeWholeHead(this.#request, response, code, [this.#held, headers], this.#date)) return response;
      return response.writeHead(code, this.#held.concat(headers));
    }
    for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
    return response.writeHead(code);
  }
}
