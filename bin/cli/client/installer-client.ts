// Client for the installer's REST API. Every call has a signal; calls with a short response have a deadline.

import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'undici';
import { isObject, parseJson, stringifyJson } from '../../../engine/model/json.ts';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { Failure } from '../../../engine/runtime/failure.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { type ApiCall, bodyOf, callApi, withDeadline } from './api-call.ts';
import { hashing, type Verified, verify } from './content-digests.ts';
import { isLost, repeating } from './repeating.ts';
import { RESUMABLE_FROM_BYTES, ResumableTransfer } from './resumable-transfer.ts';
import { type UploadContent, uploadBody } from './upload-body.ts';

interface ClientOptions {
  /** Base URL without trailing slash. */
  readonly server: string;
  readonly token: string;
}

/** The API version with these field names. */
const API_VERSION = '1.8.0';

/** Datasets per page of a list, the most that a server gives with a `Link`. */
const MAX_PAGE = 1_000;

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

interface FileList {
  readonly contents: readonly { readonly fileName: string; readonly fileSize: number; readonly sha256?: string }[];
}

export interface ShownDataset extends DatasetItem {
  /** Absent from servers of other makers. */
  readonly files?: { readonly upload?: FileList; readonly install?: FileList };
}

export interface UploadSource extends UploadContent {
  /** Large files are sent as resumable uploads, which are remembered in this folder. Undefined: all files go in one request. */
  readonly stateDir?: string | undefined;
}

/** Bytes received so far, and the total if the server announced it. */
type Received = (bytes: number, total: number | undefined) => void;

export class InstallerClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async upload(details: object, source: UploadSource, signal: AbortSignal): Promise<string> {
    return this.#send('/datasets', 'POST', details, source, signal);
  }

  /** Like {@link upload}, but replaces a dataset. Returns the id of the new dataset. */
  async revise(dataset: string, details: object, source: UploadSource, signal: AbortSignal): Promise<string> {
    return this.#send(pathOf(dataset), 'PUT', details, source, signal);
  }

  async delete(dataset: string, signal: AbortSignal): Promise<void> {
    await bodyOf(await this.#call(pathOf(dataset), { method: 'DELETE' }, withDeadline(signal)));
  }

  async undelete(dataset: string, signal: AbortSignal): Promise<void> {
    await bodyOf(await this.#call(`${pathOf(dataset)}/undelete`, { method: 'POST' }, withDeadline(signal)));
  }

  async retry(dataset: string, signal: AbortSignal): Promise<void> {
    await bodyOf(await this.#call(`${pathOf(dataset)}/retry`, { method: 'POST' }, withDeadline(signal)));
  }

  /** Offers the dataset to another user, or revokes the offer. */
  async offer(dataset: string, user: string, action: 'grant' | 'revoke', signal: AbortSignal): Promise<void> {
    const path = `${pathOf(dataset)}/shares/${encodeURIComponent(user)}/offer`;
    const init = { method: 'PUT', body: JSON.stringify({ action }), headers: { 'content-type': 'application/json' } };
    await bodyOf(await this.#call(path, init, withDeadline(signal)));
  }

  /** The first datasets, at most `most`. */
  async list(
    query: Readonly<Record<string, string>>,
    most: number,
    signal: AbortSignal,
  ): Promise<readonly DatasetItem[]> {
    // In one piece, what older servers have, too.
    const isWhole = most === Number.POSITIVE_INFINITY && !['q', 'sort', 'order'].some((name) => name in query);
    const search = new URLSearchParams({ ...query, ...(isWhole ? {} : { limit: String(Math.min(most, MAX_PAGE)) }) });
    const items: DatasetItem[] = [];
    for (let next: string | undefined = search.toString(); next !== undefined; ) {
      const response: Response = await this.#call(
        next === '' ? '/datasets' : `/datasets?${next}`,
        {},
        withDeadline(signal),
      );
      items.push(...((await bodyOf(response)) as readonly DatasetItem[]));
      next = items.length < most ? nextQuery(response) : undefined;
    }
    return items.slice(0, most);
  }

  async show(dataset: string, signal: AbortSignal): Promise<ShownDataset & Record<string, unknown>> {
    return (await bodyOf(await this.#call(pathOf(dataset), {}, withDeadline(signal)))) as ShownDataset &
      Record<string, unknown>;
  }

  /** Streams one of the two archives or a document to `file`. The file appears only once it is complete, and as it was sent. */
  async download(
    dataset: string,
    which: 'upload' | 'install' | { readonly document: string },
    file: string,
    received: Received,
    signal: AbortSignal,
  ): Promise<Verified> {
    const path = typeof which === 'string' ? which : `documents/${encodeURIComponent(which.document)}`;
    const response = await this.#call(`${pathOf(dataset)}/files/${path}`, {}, signal);
    if (!response.body) throw new Failure('transient', 'the server sent an empty response');
    const partial = `${file}.partial`;
    const counted = countedBy(received, lengthOf(response));
    const hash = createHash('sha256');
    try {
      await pipeline(Readable.fromWeb(response.body), counted, hashing(hash), createWriteStream(partial), { signal });
      const verified = verify(hash, response.headers.get('repr-digest'), file);
      await rename(partial, file);
      return verified;
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  async #send(
    path: string,
    method: 'POST' | 'PUT',
    details: object,
    source: UploadSource,
    signal: AbortSignal,
  ): Promise<string> {
    const large = (await isLarge(source)) ? await this.#sendResumably(source, signal) : undefined;
    const key = { 'idempotency-key': randomUUID() };
    let response: Response;
    if (large) {
      const body = stringifyJson({ details, uploadIds: large.uploadIds });
      const headers = { ...key, 'content-type': 'application/json' };
      response = await large.transfer.finish(() => this.#call(path, { method, body, headers }, signal), signal);
    } else {
      let counted = 0;
      const sent = (bytes: number): void => {
        counted += bytes;
        source.sent?.(bytes);
      };
      const body = await uploadBody(details, { ...source, sent }, signal);
      const headers = { ...key, 'content-type': body.type };
      const create = async (): Promise<Response> => {
        if (counted > 0) sent(-counted);
        return this.#call(path, { method, body, headers }, signal);
      };
      response = await repeating(create, systemClock, signal, isLost);
    }
    return ((await bodyOf(response)) as { datasetId: string }).datasetId;
  }

  /** Undefined when the server has no resumable uploads. */
  async #sendResumably({ files, stateDir = '', sent = () => {} }: UploadSource, signal: AbortSignal) {
    const { server, token } = this.#options;
    const transfer = new ResumableTransfer({
      ...{ call: this.#call.bind(this), account: `${server} ${callerOf(token)}`, stateDir, sent },
      clock: systemClock,
    });
    const uploadIds = await transfer.send(files, signal);
    return uploadIds && { transfer, uploadIds };
  }

  #call(
    path: string,
    init: Partial<Pick<ApiCall, 'method' | 'headers' | 'body'>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { server, token } = this.#options;
    // With this API version the response includes queued installs.
    const headers = { ...init.headers, authorization: `Bearer ${token}`, 'api-version': API_VERSION };
    return callApi({ server, path, ...init, headers }, signal);
  }
}

async function isLarge({ files, url, stateDir }: UploadSource): Promise<boolean> {
  if (url !== undefined || stateDir === undefined) return false;
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0) > RESUMABLE_FROM_BYTES;
}

/** The subject of the token, which is the same in a renewed one. */
function callerOf(token: string): string {
  try {
    const claims: unknown = parseJson(decodeUtf8(Buffer.from(token.split('.')[1] ?? '', 'base64url')) ?? '');
    return isObject(claims) ? String(claims.sub) : '';
  } catch {
    return '';
  }
}

/** Of the `Link` to the next page. Its host may be another one than ours. */
function nextQuery(response: Response): string | undefined {
  const [, url] = /<([^>]*)>\s*;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return url === undefined ? undefined : new URL(url).search.slice(1);
}

const pathOf = (dataset: string): string => `/datasets/${encodeURIComponent(dataset)}`;

function lengthOf(response: Response): number | undefined {
  const header = response.headers.get('content-length');
  return header === null ? undefined : Number(header);
}

function countedBy(received: Received, total: number | undefined) {
  let sum = 0;
  received(sum, total);
  return async function* (pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) {
      sum += piece.length;
      received(sum, total);
      yield piece;
    }
  };
}
