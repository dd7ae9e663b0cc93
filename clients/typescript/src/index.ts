// A client of the services on `fetch`: typed calls of every route, errors as exceptions, and the steps that most programs take.

import createClient, { type Client, type Middleware } from 'openapi-fetch';
import type { paths as AccessPaths } from './access.ts';
import type { components, paths as InstallerPaths, operations } from './installer.ts';
import type { paths as ReportPaths } from './report.ts';

export type DatasetDetails = components['schemas']['DatasetDetails'];
export type NewDataset = components['schemas']['NewDataset'];
export type ListingItem = components['schemas']['ListingItem'];
export type StatusBlock = components['schemas']['StatusBlock'];
export type DatasetEvent = components['schemas']['DatasetEvent'];
export type Problem = components['schemas']['Problem'];

export interface ClientOptions {
  /** Where the service is served, such as `https://data.example.org/vdi`. */
  readonly url: string;
  /** The bearer token, or where to get one that is still valid. None for routes that anybody may call. */
  readonly token?: string | (() => string | Promise<string>);
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
}

/** An answer of 400 or above. */
export class LongshoreError extends Error {
  override readonly name = 'LongshoreError';
  /** HTTP status code. */
  readonly code: number;
  /** What the service says; absent when a proxy answered. */
  readonly problem: Problem | undefined;
  /** For the administrators of the service, who find it in the log. */
  readonly requestId: string | undefined;
  /** How long to wait before trying again; absent when the answer does not say it. */
  readonly retryAfterMs: number | undefined;

  constructor(response: Response, problem: Problem | undefined) {
    super(problem?.message ?? problem?.status ?? `${response.status} ${response.statusText}`.trim());
    this.code = response.status;
    this.problem = problem;
    this.requestId = response.headers.get('x-request-id') ?? undefined;
    this.retryAfterMs = millisecondsIn(response.headers.get('retry-after'));
  }
}

/** Of a Retry-After. Proxies may say a time instead of seconds. */
function millisecondsIn(field: string | null): number | undefined {
  if (field === null) return undefined;
  const ms = /^\d+$/.test(field) ? Number(field) * 1_000 : Date.parse(field) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** The service has refused, and would refuse the same again. */
const isRefusal = (error: unknown): boolean =>
  error instanceof LongshoreError && error.code < 500 && error.code !== 429;

/** Typed calls of the installer. A call throws {@link LongshoreError} for an answer of 400 or above. */
export const installerClient = (options: ClientOptions): Client<InstallerPaths> => client<InstallerPaths>(options);
/** Typed calls of the dataset access service. */
export const accessClient = (options: ClientOptions): Client<AccessPaths> => client<AccessPaths>(options);
/** Typed calls of the report job service. */
export const reportClient = (options: ClientOptions): Client<ReportPaths> => client<ReportPaths>(options);

function client<Paths extends object>({ url, token, fetch: send }: ClientOptions): Client<Paths> {
  const made = createClient<Paths>({
    baseUrl: url.replace(/\/+$/, ''),
    // All fields of the newest interface version, and every status.
    headers: { 'Api-Version': '1.8.0' },
    ...(send ? { fetch: (request) => send(request) } : {}),
  });
  made.use(authenticating(token), refusing);
  return made;
}

const authenticating = (token: ClientOptions['token']): Middleware => ({
  onRequest: async ({ request }) => {
    const current = typeof token === 'function' ? await token() : token;
    if (current !== undefined) request.headers.set('authorization', `Bearer ${current}`);
    return request;
  },
});

const refusing: Middleware = {
  onResponse: async ({ response }) => {
    if (response.status < 400) return undefined;
    throw new LongshoreError(response, await problemOf(response));
  },
};

async function problemOf(response: Response): Promise<Problem | undefined> {
  if (!/json/.test(response.headers.get('content-type') ?? '')) return undefined;
  return (await response.json().catch(() => undefined)) as Problem | undefined;
}

export interface Upload {
  readonly details: NewDataset;
  /** Data files, or one archive (.zip, .tar.gz, .tgz). Instead of `dataUrl`. */
  readonly files?: readonly File[];
  /** URL from which the service downloads the data file. Instead of `files`. */
  readonly dataUrl?: string;
  /** Finished resumable uploads. Instead of `files`. */
  readonly uploadIds?: readonly string[];
  readonly documents?: readonly File[];
  readonly properties?: readonly File[];
  /**
   * A value made up for this upload, such as `crypto.randomUUID()`. An upload that is repeated with it, because its answer was
   * lost, returns the id of the same dataset.
   */
  readonly idempotencyKey?: string;
}

/** Uploads a dataset and returns its id. The service validates and installs it afterwards: {@link untilInstalled}. */
export async function uploadDataset(
  installer: Client<InstallerPaths>,
  { details, files = [], dataUrl, uploadIds = [], documents = [], properties = [], idempotencyKey }: Upload,
  signal?: AbortSignal,
): Promise<string> {
  const form = new FormData();
  form.append('details', JSON.stringify(details));
  for (const file of files) form.append('dataFile', file);
  if (dataUrl !== undefined) form.append('url', dataUrl);
  for (const id of uploadIds) form.append('uploadIds', id);
  for (const file of documents) form.append('docFile', file);
  for (const file of properties) form.append('dataPropertiesFile', file);
  const bytes = [...files, ...documents, ...properties].reduce((sum, { size }) => sum + size, 0);
  const { body, headers } = bytes > DIGESTED_BYTES ? { body: form, headers: {} } : await digested(form);
  const { data } = await installer.POST('/datasets', {
    // The form is the body; its type in the document describes the parts.
    body: form as never,
    bodySerializer: () => body,
    headers: { ...headers, ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }) },
    ...(signal ? { signal } : {}),
  });
  return (data as { readonly datasetId: string }).datasetId;
}

/** Filters, search words (`q`) and order of a list. */
export type ListQuery = Omit<
  NonNullable<operations['listDatasets']['parameters']['query']>,
  'offset' | 'cursor' | 'total'
>;

/** Datasets per request, unless the query has a `limit`. */
const PAGE = 100;

/**
 * All datasets of the caller's list, or of the community's, page by page: the next page is asked for when the one before was used.
 * A dataset that is added or removed meanwhile does not change what else comes.
 */
export async function* allDatasets(
  installer: Client<InstallerPaths>,
  { path = '/datasets', ...query }: ListQuery & { readonly path?: '/datasets' | '/datasets/community' } = {},
  signal?: AbortSignal,
): AsyncGenerator<ListingItem, void, undefined> {
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const { data, response } = await installer.GET(path as '/datasets', {
      params: { query: { limit: PAGE, ...query, ...(cursor === undefined ? {} : { cursor }) } },
      ...(signal ? { signal } : {}),
    });
    yield* data as readonly ListingItem[];
    cursor = nextCursor(response);
  }
}

/** The cursor of the page after this answer of a list; undefined on the last page. */
export function nextCursor(response: Response): string | undefined {
  const [, url] = /<([^>]*)>\s*;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return url === undefined ? undefined : (new URL(url).searchParams.get('cursor') ?? undefined);
}

/** A form with more is sent without a digest, which would need all of it in memory. */
const DIGESTED_BYTES = 64 * 1024 * 1024;

/** The form with its digest, so that the service refuses it if a byte changes on the way. */
async function digested(form: FormData): Promise<{ body: ArrayBuffer; headers: Record<string, string> }> {
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type') ?? '';
  const body = await encoded.arrayBuffer();
  const digest = await sha256Field(body);
  const headers = { 'Content-Type': type, ...(digest === undefined ? {} : { 'Content-Digest': digest }) };
  return { body, headers };
}

/** As RFC 9530 has it. Undefined where the platform has no digests, as in pages without TLS. */
async function sha256Field(bytes: ArrayBuffer): Promise<string | undefined> {
  const { subtle } = globalThis.crypto ?? {};
  if (subtle === undefined) return undefined;
  const digest = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return `sha-256=:${btoa(String.fromCharCode(...digest))}:`;
}

export interface Download {
  /** The zip. */
  readonly bytes: ArrayBuffer;
  /** The service knows the SHA-256 of the zip, and the bytes have it. */
  readonly verified: boolean;
}

/** Downloads the files of a dataset as one zip: those that were uploaded, or those that are installed. Throws if a byte changed. */
export async function downloadFiles(
  installer: Client<InstallerPaths>,
  datasetId: string,
  kind: 'upload' | 'install',
  signal?: AbortSignal,
): Promise<Download> {
  const options = {
    params: { path: { id: datasetId } },
    parseAs: 'arrayBuffer',
    ...(signal ? { signal } : {}),
  } as const;
  const { data, response } =
    kind === 'upload'
      ? await installer.GET('/datasets/{id}/files/upload', options)
      : await installer.GET('/datasets/{id}/files/install', options);
  const bytes = data as unknown as ArrayBuffer;
  const said = /(?:^|,)\s*(sha-256=:[A-Za-z0-9+/=]*:)/.exec(response.headers.get('repr-digest') ?? '')?.[1];
  const digest = said === undefined ? undefined : await sha256Field(bytes);
  if (digest === undefined) return { bytes, verified: false };
  if (digest !== said)
    throw new Error(`dataset ${datasetId}: the service says ${said}, but what arrived has ${digest}`);
  return { bytes, verified: true };
}

/** How the processing of a dataset ended, or `pending`. */
export type Outcome = 'pending' | 'installed' | 'refused' | 'failed';

/**
 * `refused`: the upload was rejected or the data are invalid; upload a revision. `failed`: an error of the service or of a
 * plugin; its administrators can try again.
 */
export function outcomeOf({ upload, import: imported, install }: StatusBlock): Outcome {
  if (upload.status === 'rejected' || imported.status === 'invalid') return 'refused';
  if (upload.status === 'failed' || imported.status === 'failed') return 'failed';
  const parts = install.flatMap(({ meta, data }) => [meta.status, ...(data ? [data.status] : [])]);
  if (parts.includes('failed-validation')) return 'refused';
  if (parts.includes('failed-installation') || parts.includes('missing-dependency')) return 'failed';
  const isComplete = imported.status === 'complete' && parts.length > 0 && parts.every((part) => part === 'complete');
  return isComplete ? 'installed' : 'pending';
}

/** Waits until the outcome is known, and returns the dataset. Throws if it was refused or has failed, with the messages. */
export async function untilInstalled(
  installer: Client<InstallerPaths>,
  datasetId: string,
  signal?: AbortSignal,
): Promise<DatasetDetails> {
  const read = async (): Promise<DatasetDetails> => {
    const { data } = await installer.GET('/datasets/{id}', {
      params: { path: { id: datasetId } },
      ...(signal ? { signal } : {}),
    });
    return data as DatasetDetails;
  };
  const isInstalled = ({ status }: DatasetDetails): boolean => {
    const outcome = outcomeOf(status);
    if (outcome === 'installed' || outcome === 'pending') return outcome === 'installed';
    throw new Error(`dataset ${datasetId} ${outcome}: ${messagesOf(status).join('; ')}`);
  };
  const first = await read();
  if (isInstalled(first)) return first;
  // Also at each comment of the stream: the status decides, whatever was told.
  for await (const { event } of follow(installer, { datasetId, ...(signal ? { signal } : {}) })) {
    if (event === 'accepted') continue;
    // If it cannot be read now, the next part of the stream comes within seconds.
    const details = await read().catch((error: unknown) => {
      signal?.throwIfAborted();
      if (isRefusal(error)) throw error;
      return undefined;
    });
    if (details && isInstalled(details)) return details;
  }
  throw new Error('not reached: a stream is followed until it is refused');
}

/** The messages of all steps. */
export const messagesOf = ({ upload, import: imported, install }: StatusBlock): readonly string[] => [
  ...(upload.message === undefined ? [] : [upload.message]),
  ...(imported.messages ?? []),
  ...install.flatMap(({ meta, data }) => [...(meta.messages ?? []), ...(data?.messages ?? [])]),
];

export interface Following {
  /** Of this dataset only. Default: of all that the caller owns, or was given. */
  readonly datasetId?: string;
  /** Begins after the event with this id; 0: with the oldest that is kept. Default: of a dataset 0, else with what comes. */
  readonly after?: number;
  /** Called when events were removed before they could be read: look at the status of your datasets. */
  readonly onGap?: () => void;
  readonly signal?: AbortSignal;
}

/** What happens to datasets, each event once and in order. Connects again by itself; throws when the service refuses that. */
export async function* datasetEvents(
  installer: Client<InstallerPaths>,
  following: Following = {},
): AsyncGenerator<DatasetEvent, void> {
  for await (const { event, data } of follow(installer, following)) {
    if (event === 'gap') following.onGap?.();
    else if (data !== undefined && event !== 'end') yield JSON.parse(data) as DatasetEvent;
  }
}

/** A part of a stream: an event, or a comment without any field. */
interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
}

const RETRY_MS = 2_000;
/** The service sends a comment every 15 s. After so long without one, the connection is dead. */
const SILENT_MS = 45_000;

async function* follow(
  installer: Client<InstallerPaths>,
  { datasetId, after, signal }: Following,
): AsyncGenerator<Frame, void> {
  let last = after;
  for (let retryMs = RETRY_MS; ; ) {
    let askedMs = 0;
    try {
      for await (const frame of framesOf(await openStream(installer, datasetId, last, signal))) {
        last = frame.id === undefined ? last : Number(frame.id);
        retryMs = frame.retry === undefined ? retryMs : Number(frame.retry);
        yield frame;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (isRefusal(error)) throw error;
      askedMs = (error instanceof LongshoreError && error.retryAfterMs) || 0;
    }
    await delay(Math.max(retryMs, askedMs), signal);
  }
}

async function openStream(
  installer: Client<InstallerPaths>,
  datasetId: string | undefined,
  last: number | undefined,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const query = last === undefined ? {} : { query: { after: last } };
  const options = {
    headers: { accept: 'text/event-stream' },
    parseAs: 'stream',
    ...(signal ? { signal } : {}),
  } as const;
  const { data } =
    datasetId === undefined
      ? await installer.GET('/events', { params: query, ...options })
      : await installer.GET('/datasets/{id}/events', { params: { path: { id: datasetId }, ...query }, ...options });
  return data as ReadableStream<Uint8Array>;
}

async function* framesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Frame, void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const silent = setTimeout(() => void reader.cancel().catch(() => undefined), SILENT_MS);
      const { value, done } = await reader.read().finally(() => clearTimeout(silent));
      if (done) return;
      const texts = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = texts.pop() ?? '';
      for (const text of texts) yield frameOf(text);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

const frameOf = (text: string): Frame =>
  Object.fromEntries(
    text
      .split('\n')
      .map((line) => /^(\w+): (.*)$/s.exec(line) ?? [])
      .flatMap(([, name, value]) => (name === undefined ? [] : [[name, value]])),
  );

function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
