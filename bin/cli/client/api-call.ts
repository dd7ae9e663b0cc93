// One call of a Longshore REST API, with fetch. An error response becomes a failure with the server's own message.

import { fetch, type Response } from 'undici';
import { parseJson } from '../../../engine/model/json.ts';
import { Failure, messageOf } from '../../../engine/runtime/failure.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { ApiError } from '../command.ts';

export interface ApiCall {
  /** Base URL without trailing slash. */
  readonly server: string;
  /** Starts with a slash; includes the query. */
  readonly path: string;
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Blob | AsyncIterable<Uint8Array> | string;
}

const CALL_MS = 30_000;

/** Rejects with an {@link ApiError}, or with an unreachable failure when there was no response. */
export async function callApi({ server, path, ...init }: ApiCall, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    // A body that is a stream has to say so.
    response = await fetch(server + path, { ...init, duplex: 'half', signal });
  } catch (error) {
    if (signal.aborted) throw isTimeout(signal.reason) ? silent(server, error) : signal.reason;
    const cause = (error as { cause?: unknown }).cause ?? error;
    throw new Failure('transient', `${server}: ${messageOf(cause)}`, { cause: error, unreachable: true });
  }
  if (response.ok) return response;
  const { status } = response;
  throw new ApiError(status, describe(status, await bodyOf(response)), retryAfterMs(response));
}

/** Proxies may say a time instead of seconds. */
function retryAfterMs({ headers }: Response): number | undefined {
  const given = headers.get('retry-after');
  if (given === null) return undefined;
  const ms = /^\d+$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - systemClock.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';

const silent = (server: string, cause: unknown): Failure =>
  new Failure('transient', `${server}: no response within the deadline`, { cause, unreachable: true });

/** For calls with a short response. */
export const withDeadline = (signal: AbortSignal, ms = CALL_MS): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(ms)]);

/** Parsed JSON, or text if it is not JSON. */
export async function bodyOf(response: Response): Promise<unknown> {
  const content = await response.text();
  try {
    return parseJson(content);
  } catch {
    return content;
  }
}

/** Formats an error body as lines: the message, then every fault with its key. */
function describe(status: number, body: unknown): string {
  if (typeof body !== 'object' || body === null) return `${status}: ${String(body).slice(0, 500)}`;
  const { message, errors, requestId } = body as {
    message?: string;
    requestId?: string;
    errors?: { general?: readonly string[]; byKey?: Readonly<Record<string, readonly string[]>> };
  };
  const lines = [`${status}: ${message ?? 'no message'}${requestId ? ` (request ${requestId})` : ''}`];
  for (const text of errors?.general ?? []) lines.push(`  ${text}`);
  for (const [key, texts] of Object.entries(errors?.byKey ?? {}))
    for (const text of texts) lines.push(`  ${key}: ${text}`);
  return lines.join('\n');
}
