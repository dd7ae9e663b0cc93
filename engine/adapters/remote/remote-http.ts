// Remote files over HTTP(S). Redirects are followed here, so that each hop is checked like the first URL. Addresses are checked
// where connections are made (fetchable-addresses.ts). One connection per request, not kept alive; no proxy.

import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import type { NoRemoteFile, OpenRemoteFile, RemoteFile, RemoteFiles } from '../../ports/remote-files.ts';
import { aborted, Failure, messageOf, transient } from '../../runtime/failure.ts';
import { type Clock, systemClock } from '../../runtime/time.ts';
import {
  AddressRefused,
  FetchableAddresses,
  guardedConnector,
  type Resolve,
  resolveBySystem,
} from './fetchable-addresses.ts';
import { decoded, fromLatin1, remoteFileName } from './remote-file-name.ts';

/** Plain data, because it is sent to threads. */
export interface RemoteHttpOptions {
  /** Permitted ports of public addresses. */
  readonly ports: readonly number[];
  /** Address ranges outside of the public internet that are permitted too, at any port. */
  readonly allow: readonly string[];
  readonly maxRedirects: number;
  /** For the name lookup and the connection together. */
  readonly connectMs: number;
  /** Maximum silence before the head and within the body of a response, and maximum time for 64 KiB of the body. */
  readonly idleMs: number;
}

export interface RemoteHttpParts {
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
  readonly clock?: Clock;
}

/** Minimum progress within the idle time: otherwise a body that trickles in would block its reader forever. */
const LEAST_BYTES = 64 * 1024;
const REDIRECTS = [301, 302, 303, 307, 308];
/** 202: the file is still being created. */
const MAY_PASS = [202, 408, 429];
/** Query parameters with which signed links of common object stores state their expiry. */
const EXPIRY = [['expires'], ['x-amz-date', 'x-amz-expires'], ['x-goog-date', 'x-goog-expires'], ['se']];

export class RemoteHttp implements RemoteFiles, AsyncDisposable {
  readonly #options: RemoteHttpOptions;
  readonly #clock: Clock;
  readonly #agent: Agent;

  constructor(options: RemoteHttpOptions, parts: RemoteHttpParts = {}) {
    const { resolve = resolveBySystem, clock = systemClock } = parts;
    this.#options = options;
    this.#clock = clock;
    this.#agent = new Agent({
      connect: guardedConnector(new FetchableAddresses(options.allow, options.ports), resolve, options.connectMs),
      headersTimeout: options.idleMs,
      bodyTimeout: options.idleMs,
      pipelining: 0,
    });
  }

  async probe(url: URL, signal: AbortSignal): Promise<RemoteFile | NoRemoteFile> {
    const found = await this.fetch(url, signal);
    if (found.kind !== 'found') return found;
    found.body.destroy();
    return { kind: 'found', fileName: found.fileName, size: found.size };
  }

  async fetch(url: URL, signal: AbortSignal): Promise<OpenRemoteFile | NoRemoteFile> {
    const { maxRedirects } = this.#options;
    let at = url;
    for (let redirects = 0; ; redirects++) {
      const reason = unfit(at);
      if (reason !== undefined)
        return { kind: 'refused', reason: redirects === 0 ? reason : `redirects to one that ${reason}` };
      const answer = await this.#get(at, signal);
      if ('kind' in answer) return answer;
      const location = redirectOf(answer);
      if (location === undefined) return this.#open(answer, at, signal);
      answer.body.destroy();
      if (redirects === maxRedirects) return failed(`${nameOf(url)} redirects more than ${maxRedirects} times`);
      const next = URL.parse(location, at);
      if (!next) return failed(`${nameOf(at)} redirects to an invalid URL`);
      at = next;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  async #get(url: URL, signal: AbortSignal): Promise<Dispatcher.ResponseData | NoRemoteFile> {
    try {
      const answer = await this.#agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'longshore' },
        signal,
      });
      // A body that is destroyed early emits an error, which is irrelevant.
      answer.body.on('error', () => undefined);
      return answer;
    } catch (error) {
      if (signal.aborted) throw stopped(url, signal);
      if (error instanceof AddressRefused)
        return { kind: 'refused', reason: forbidden(error.hostname, this.#options.ports) };
      return failed(`${nameOf(url)} cannot be fetched: ${messageOf(error)}`, !isCertificateFault(error));
    }
  }

  async #open(
    { statusCode, statusText, headers, body }: Dispatcher.ResponseData,
    url: URL,
    signal: AbortSignal,
  ): Promise<OpenRemoteFile | NoRemoteFile> {
    const refuse = (message: string, again = false): NoRemoteFile => {
      body.destroy();
      return failed(message, again);
    };
    const range = textOf(headers['content-range']);
    if (statusCode !== 200 && !(statusCode === 206 && isWhole(range))) {
      const said = `${nameOf(url)} answered ${statusCode}${statusText ? ` (${statusText})` : ''}`;
      return refuse(said + hint(statusCode, url, range), statusCode >= 500 || MAY_PASS.includes(statusCode));
    }
    const fileName = remoteFileName(textOf(headers['content-disposition']), url);
    const encoding = textOf(headers['content-encoding'])?.trim().toLowerCase() ?? '';
    const content = decoded(body, encoding, fileName);
    if (!content) return refuse(`${nameOf(url)} sends its content as '${encoding}', although identity was requested`);
    try {
      const chunks = flowing(content, this.#options.idleMs, this.#clock);
      const first = await firstOf(chunks);
      if (!first) return refuse(`${nameOf(url)} answered with an empty body`);
      const rest = following(first, chunks, body, (error) => brokenOff(error, url, signal));
      return { kind: 'found', fileName, size: content === body ? sizeOf(headers) : undefined, body: rest };
    } catch (error) {
      body.destroy();
      if (signal.aborted) throw stopped(url, signal);
      return failed(`${nameOf(url)}: ${messageOf(error)}`, true);
    }
  }
}

/** What is wrong with the URL itself. */
function unfit(url: URL): string | undefined {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `starts with ${url.protocol}; only http and https are allowed`;
  // It would be shown to everybody who sees the dataset.
  if (url.username !== '' || url.password !== '') return 'contains a user name or password, which is not allowed';
  return undefined;
}

/**
 * The same message whether the name does not exist, is internal, or the port is not allowed: a difference would reveal our
 * network.
 */
const forbidden = (hostname: string, ports: readonly number[]): string =>
  `leads to ${hostname}, which is not on the public internet at one of the ports ${ports.join(', ')}, and not allowed by ` +
  'restService.urlUploads.allow';

/** A URL for messages, without its query, which may contain a signature. */
const nameOf = (url: URL): string => url.origin + url.pathname;

const failed = (message: string, again = false): NoRemoteFile => ({ kind: 'failed', message, again });

function stopped(url: URL, { reason }: AbortSignal): Failure {
  return reason instanceof Failure ? reason : aborted(`${nameOf(url)}: ${messageOf(reason)}`, { cause: reason });
}

function redirectOf({ statusCode, headers }: Dispatcher.ResponseData): string | undefined {
  const location = REDIRECTS.includes(statusCode) ? textOf(headers.location) : undefined;
  return location === undefined ? undefined : fromLatin1(location);
}

/** A partial response that we did not request is acceptable if it contains the whole file. */
function isWhole(range: string | undefined): boolean {
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range?.trim() ?? '') ?? [];
  return first !== undefined && Number(first) === 0 && Number(last) + 1 === Number(size);
}

function hint(statusCode: number, url: URL, range: string | undefined): string {
  if (statusCode === 202) return ': the file is not ready yet; retry when it can be downloaded';
  if (statusCode === 206)
    return `: that is a part of the file (Content-Range: ${range ?? 'none'}), but the whole file is required`;
  if (statusCode < 300) return ': only 200 means that the whole file follows';
  const names = new Set([...url.searchParams.keys()].map((name) => name.toLowerCase()));
  const expires = EXPIRY.some((needed) => needed.every((name) => names.has(name)));
  return statusCode === 403 && expires ? '; this looks like a signed link that has expired: create a new one' : '';
}

const textOf = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

function sizeOf(headers: Dispatcher.ResponseData['headers']): number | undefined {
  const size = Number(textOf(headers['content-length']) ?? Number.NaN);
  return Number.isSafeInteger(size) ? size : undefined;
}

async function firstOf(chunks: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
  for (let next = await chunks.next(); !next.done; next = await chunks.next())
    if (next.value.length > 0) return next.value;
  return undefined;
}

/** Yields the chunks; fails when too few bytes arrive while we wait. The reader's own time does not count. */
async function* flowing(body: AsyncIterable<Buffer>, idleMs: number, clock: Clock): AsyncGenerator<Buffer, undefined> {
  let [waitedMs, bytes] = [0, 0];
  let since = clock.now();
  for await (const chunk of body) {
    waitedMs += clock.now() - since;
    bytes += chunk.length;
    if (waitedMs >= idleMs) {
      if (bytes < LEAST_BYTES) throw new Error(`only ${bytes} bytes in ${waitedMs} ms`);
      [waitedMs, bytes] = [0, 0];
    }
    yield chunk;
    since = clock.now();
  }
  return undefined;
}

/** Not `Readable.from` a generator: that could not be destroyed while it waits for a chunk. */
function following(
  first: Buffer,
  chunks: AsyncIterator<Buffer>,
  body: Readable,
  inWords: (error: unknown) => Error,
): Readable {
  const rest = new Readable({
    read() {
      chunks.next().then(
        (next) => void rest.push(next.done ? null : next.value),
        (error: unknown) => void rest.destroy(inWords(error)),
      );
    },
    destroy(error, done) {
      body.destroy();
      done(error);
    },
  });
  rest.push(first);
  return rest;
}

function brokenOff(error: unknown, url: URL, signal: AbortSignal): Failure {
  if (signal.aborted) return stopped(url, signal);
  return transient(`${nameOf(url)} broke off: ${messageOf(error)}`, { cause: error });
}

/** An invalid certificate is unlikely to be replaced soon, so we do not retry. */
function isCertificateFault(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code);
}
