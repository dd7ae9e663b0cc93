// Files at a URL that a user gave. Neither the location nor the content is trusted.

import type { Readable } from 'node:stream';

export interface RemoteFile {
  readonly kind: 'found';
  /** A label that passes model/file-name.ts, whatever name the server sent. */
  readonly fileName: string;
  /** Bytes, when the server states them; the actual number may differ. */
  readonly size: number | undefined;
}

export interface OpenRemoteFile extends RemoteFile {
  /** Has at least one byte. Must be consumed or destroyed; an early end for any reason is a `transient` failure. */
  readonly body: Readable;
}

export type NoRemoteFile =
  /** We must not fetch from the address, or from one that it redirects to; the reason continues 'the URL ...'. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing was received; `again` when the same request may succeed later. */
  | { readonly kind: 'failed'; readonly message: string; readonly again: boolean };

export interface RemoteFiles {
  /** Whether something can be fetched; closes the connection after the first byte. */
  probe(url: URL, signal: AbortSignal): Promise<RemoteFile | NoRemoteFile>;
  /** Fetches from the beginning. Rejects only when aborted. */
  fetch(url: URL, signal: AbortSignal): Promise<OpenRemoteFile | NoRemoteFile>;
}
