// The installer's REST API as the command line uses it; undici underneath. Every call has a deadline and a signal.

import { createWriteStream, openAsBlob } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FormData, fetch, type Response } from 'undici';
import { Failure, messageOf } from '../../engine/failure.ts';
import { parseJson, stringifyJson } from '../../engine/model/json.ts';

export interface ClientOptions {
  /** Base URL without trailing slash. */
  readonly server: string;
  readonly token: string;
}

export interface DatasetStatus {
  readonly upload: { readonly status: string; readonly message?: string };
  readonly import?: { readonly status: string; readonly messages?: readonly string[] };
  readonly install?: readonly {
    readonly installTarget: string;
    readonly meta?: { readonly status: string; readonly messages?: readonly string[] };
    readonly data?: { readonly status: string; readonly messages?: readonly string[] };
  }[];
}

export interface DatasetItem {
  readonly datasetId: string;
  readonly name: string;
  readonly type: { readonly name: string; readonly version: string };
  readonly created: string;
  readonly installTargets: readonly string[];
  readonly status: DatasetStatus;
}

/** The server answered, and not with success: its own words, whole. */
export class ApiError extends Failure {
  readonly status: number;

  constructor(status: number, message: string) {
    super('rejected', message);
    this.status = status;
  }
}

const CALL_MS = 30_000;

export class InstallerClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async upload(
    details: object,
    files: readonly string[],
    url: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const form = new FormData();
    // The description goes first, so that a server refuses bad metadata before any data are sent.
    form.append('details', new Blob([stringifyJson(details)], { type: 'application/json' }), 'details.json');
    if (url !== undefined) form.append('url', url);
    for (const file of files) form.append('dataFile', await openAsBlob(file), basename(file));
    const response = await this.#call('/datasets', { method: 'POST', body: form }, signal);
    return ((await bodyOf(response)) as { datasetId: string }).datasetId;
  }

  async list(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly DatasetItem[]> {
    const search = new URLSearchParams(query).toString();
    const path = search === '' ? '/datasets' : `/datasets?${search}`;
    return (await bodyOf(await this.#call(path, {}, withDeadline(signal)))) as readonly DatasetItem[];
  }

  async show(dataset: string, signal: AbortSignal): Promise<DatasetItem & Record<string, unknown>> {
    const path = `/datasets/${encodeURIComponent(dataset)}`;
    return (await bodyOf(await this.#call(path, {}, withDeadline(signal)))) as DatasetItem & Record<string, unknown>;
  }

  /** Streams the upload's or the install's zip to `file`; a file that exists only when it is whole. */
  async download(dataset: string, which: 'upload' | 'install', file: string, signal: AbortSignal): Promise<void> {
    const response = await this.#call(`/datasets/${encodeURIComponent(dataset)}/files/${which}`, {}, signal);
    if (!response.body) throw new Failure('transient', 'the server sent no body');
    const partial = `${file}.partial`;
    try {
      await pipeline(Readable.fromWeb(response.body), createWriteStream(partial), { signal });
      await rename(partial, file);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }

  async #call(path: string, init: { method?: string; body?: FormData }, signal: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(this.#options.server + path, {
        ...init,
        headers: { authorization: `Bearer ${this.#options.token}` },
        signal,
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const cause = (error as { cause?: unknown }).cause ?? error;
      throw new Failure('transient', `${this.#options.server}: ${messageOf(cause)}`, {
        cause: error,
        unreachable: true,
      });
    }
    if (!response.ok) throw new ApiError(response.status, describe(response.status, await bodyOf(response)));
    return response;
  }
}

const withDeadline = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);

async function bodyOf(response: Response): Promise<unknown> {
  const content = await response.text();
  try {
    return parseJson(content);
  } catch {
    return content;
  }
}

/** An error body as lines: the message, then every fault by its key. */
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
