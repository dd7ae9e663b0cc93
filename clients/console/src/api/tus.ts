// Sends a file as a resumable upload (docs/resumable-uploads.md). After a reload, the server's list of uploads tells what is left.
// Loaded when the first file is sent.

import { type DetailedError, type HttpRequest, Upload } from 'tus-js-client';
import { randomKey } from './random-key.ts';
import { lost } from './reachability.ts';
import { validToken } from './session.ts';
import { SERVER } from './settings.ts';

export interface Sending {
  /** Continues after the last byte that the server has. */
  start(): void;
  pause(): void;
}

export interface SendOptions {
  /** Continues this upload instead of a new one. */
  readonly uploadId?: string | undefined;
  readonly onCreated: (uploadId: string) => void;
  readonly onProgress: (sent: number) => void;
  readonly onDone: () => void;
  /** After several attempts. */
  readonly onFailed: (text: string) => void;
}

/** The server still has the broken connection, and lets go of it soon; or other uploads of the person have all places. */
const PASSING = [409, 423, 429];
/** Between attempts. */
const PAUSES_MS = [0, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 30_000, 30_000];

export function send(file: File, { uploadId, onCreated, onProgress, onDone, onFailed }: SendOptions): Sending {
  const key = randomKey();
  const upload = new Upload(file, {
    endpoint: `${SERVER}/uploads`,
    ...(uploadId === undefined ? {} : { uploadUrl: `${SERVER}/uploads/${encodeURIComponent(uploadId)}` }),
    metadata: { filename: file.name },
    storeFingerprintForResuming: false,
    retryDelays: PAUSES_MS,
    onShouldRetry: (error) => {
      const status = statusOf(error);
      if (status === 0) lost();
      return status < 400 || status >= 500 || PASSING.includes(status);
    },
    async onBeforeRequest(request: HttpRequest) {
      request.setHeader('Authorization', `Bearer ${await validToken()}`);
      if (request.getMethod() === 'POST') request.setHeader('Idempotency-Key', key);
    },
    onUploadUrlAvailable: () => onCreated(decodeURIComponent(upload.url?.split('/').at(-1) ?? '')),
    onProgress,
    onSuccess: onDone,
    onError: (error) => onFailed(wordsOf(error)),
  });
  return { start: () => upload.start(), pause: () => void upload.abort() };
}

/** 0 if there was no answer. */
const statusOf = (error: Error | DetailedError): number =>
  'originalResponse' in error ? (error.originalResponse?.getStatus() ?? 0) : 0;

/** What the server says, in its own words. */
function wordsOf(error: Error | DetailedError): string {
  const body = 'originalResponse' in error ? (error.originalResponse?.getBody() ?? '') : '';
  try {
    return (JSON.parse(body) as { readonly message?: string }).message ?? '';
  } catch {
    return '';
  }
}
