// A client of the services on `fetch`: typed calls of every route, errors as exceptions, and the steps that most programs take.

import createClient, { type Client, type Middleware } from 'openapi-fetch';
import type { paths as AccessPaths } from './access.ts';
import type { components, paths as InstallerPaths } from './installer.ts';
import type { paths as ReportPaths } from './report.ts';

export type DatasetDetails = components['schemas']['DatasetDetails'];
export type NewDataset = components['schemas']['NewDataset'];
export type StatusBlock = components['schemas']['StatusBlock'];
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

  constructor(response: Response, problem: Problem | undefined) {
    super(problem?.message ?? problem?.status ?? `${response.status} ${response.statusText}`.trim());
    this.code = response.status;
    this.problem = problem;
    this.requestId = response.headers.get('x-request-id') ?? undefined;
  }
}

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
  readonly documents?: readonly File[];
  readonly properties?: readonly File[];
}

/** Uploads a dataset and returns its id. The service validates and installs it afterwards: {@link untilInstalled}. */
export async function uploadDataset(
  installer: Client<InstallerPaths>,
  { details, files = [], dataUrl, documents = [], properties = [] }: Upload,
  signal?: AbortSignal,
): Promise<string> {
  const form = new FormData();
  form.append('details', JSON.stringify(details));
  for (const file of files) form.append('dataFile', file);
  if (dataUrl !== undefined) form.append('url', dataUrl);
  for (const file of documents) form.append('docFile', file);
  for (const file of properties) form.append('dataPropertiesFile', file);
  const { data } = await installer.POST('/datasets', {
    // The form is the body; its type in the document describes the parts.
    body: form as never,
    bodySerializer: () => form,
    ...(signal ? { signal } : {}),
  });
  return (data as { readonly datasetId: string }).datasetId;
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

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/** Waits until the outcome is known, and returns the dataset. Throws if it was refused or has failed, with the messages. */
export async function untilInstalled(
  installer: Client<InstallerPaths>,
  datasetId: string,
  signal?: AbortSignal,
): Promise<DatasetDetails> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 1.5, LONGEST_WAIT_MS)) {
    const { data } = await installer.GET('/datasets/{id}', {
      params: { path: { id: datasetId } },
      ...(signal ? { signal } : {}),
    });
    const details = data as DatasetDetails;
    const outcome = outcomeOf(details.status);
    if (outcome === 'installed') return details;
    if (outcome !== 'pending')
      throw new Error(`dataset ${datasetId} ${outcome}: ${messagesOf(details.status).join('; ')}`);
    await delay(waitMs, signal);
  }
}

/** The messages of all steps. */
export const messagesOf = ({ upload, import: imported, install }: StatusBlock): readonly string[] => [
  ...(upload.message === undefined ? [] : [upload.message]),
  ...(imported.messages ?? []),
  ...install.flatMap(({ meta, data }) => [...(meta.messages ?? []), ...(data?.messages ?? [])]),
];

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
