// The head of an answer until it is written. What is the same for every answer is only kept here: an answer that is written
// at once (JSON, which most are) hands all of its headers to the platform in one piece, which takes a sixth of the time that
// setting one after the other does.
//   held     headers are in our list
//   handed   whoever wants to set more, or streams, has asked for the response: they are all set there

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HeaderLine } from './header-line.ts';
import { writeWholeHead } from './whole-head.ts';

export class AnswerHead {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #date: string;
  /** Undefined once handed. */
  #held: HeaderLine[] | undefined;

  /**
   * @param date the time as a header has it
   * @param headers of every answer
   */
  constructor(request: IncomingMessage, response: ServerResponse, date: string, headers: HeaderLine[] = []) {
    this.#request = request;
    this.#response = response;
    this.#date = date;
    this.#held = headers;
  }

  /** @param header each name but once; what is added here is of the service, never of a handler */
  add(header: HeaderLine): void {
    if (this.#held) this.#held.push(header);
    else this.#response.setHeader(header.name, header.value);
  }

  has(name: string): boolean {
    if (!this.#held) return this.#response.hasHeader(name);
    for (const header of this.#held) if (header.name === name) return true;
    return false;
  }

  /** The response, with all headers set. */
  get response(): ServerResponse {
    const held = this.#held;
    this.#held = undefined;
    if (held) this.#setAll(held);
    return this.#response;
  }

  /**
   * Writes the status and all headers, these as the last. What is given here must not be among those that were added, must
   * have been checked to be a header, and the length of the body is one of them.
   */
  write(code: number, headers: readonly HeaderLine[]): ServerResponse {
    const response = this.#response;
    const held = this.#held;
    if (held) {
      if (writeWholeHead(this.#request, response, code, [held, headers], this.#date)) return response;
      return response.writeHead(
        code,
        [...held, ...headers].flatMap(({ name, value }) => [name, value]),
      );
    }
    this.#setAll(headers);
    return response.writeHead(code);
  }

  #setAll(headers: readonly HeaderLine[]): void {
    for (const { name, value } of headers) this.#response.setHeader(name, value);
  }
}
