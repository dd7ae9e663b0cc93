// Writes the head of an answer whose length is known, byte for byte as `ServerResponse.writeHead` does. That checks each
// name and value anew, although all but the handlers' own are constants of ours, and so takes a sixth of the time of a small
// request; here they are put together as they are. The text goes where Node.js keeps it until the body comes; a Node.js
// that keeps it elsewhere, or an answer that is not of the usual kind, is left to `writeHead`.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type HeaderLine, inOnePiece } from './header-line.ts';

/** What of the response is not in its type. */
interface Inner {
  /** The head; null until it is written. */
  _header?: string | null;
  /** What its head says of how long the connection is kept, ms. */
  _keepAliveTimeout?: number;
}

/** For a server that closes connections itself, so that the platform does not know when. */
export function keepFor(response: ServerResponse, ms: number): void {
  (response as Inner)._keepAliveTimeout = ms;
}

/** The lines at the end of a head; the same until the date changes. */
class Ending {
  #date = '';
  #keptMs = 0;
  #text = '';

  of(date: string, keptMs: number): string {
    if (date !== this.#date || keptMs !== this.#keptMs) {
      this.#date = date;
      this.#keptMs = keptMs;
      const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keptMs / 1000)}\r\n`;
      this.#text = inOnePiece(`Date: ${date}\r\n${kept}\r\n`);
    }
    return this.#text;
  }
}

const ENDING = new Ending();
const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, message]) => [Number(code), `HTTP/1.1 ${code} ${message}\r\n`]),
);

/**
 * @param lists checked; the length of the body is one of them
 * @param date for the header of that name
 * @returns false when nothing was done
 */
export function writeWholeHead(
  request: IncomingMessage,
  response: ServerResponse,
  code: number,
  lists: readonly (readonly HeaderLine[])[],
  date: string,
): boolean {
  const inner: Inner = response as object;
  const keptMs = inner._keepAliveTimeout;
  if (inner._header !== null || typeof keptMs !== 'number' || keptMs < 1000) return false;
  // A body that is still to be read, or not even sent, decides whether the connection can be kept; so does who asked for its end.
  if (!response.shouldKeepAlive || !request.readableEnded || request.headers.expect !== undefined) return false;
  if (code < 200 || code === 204 || code === 304) return false;
  let head = STATUS_LINES.get(code) ?? `HTTP/1.1 ${code} unknown\r\n`;
  for (const list of lists)
    for (const { name, line } of list) {
      if (name === 'connection') return false;
      head += line;
    }
  response.statusCode = code;
  response.statusMessage = STATUS_CODES[code] ?? 'unknown';
  inner._header = head + ENDING.of(date, keptMs);
  return true;
}
