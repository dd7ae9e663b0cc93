// Files that others keep at a URL that a user gave: untrusted both where they lie and in what they are.

import type { Readable } from 'node:stream';

export interface RemoteFile {
  readonly kind: 'found';
  /** A label that passes model/file-name.ts, whatever the server called it. */
  readonly fileName: string;
  /** Bytes, when the server says so; what comes may differ. */
  readonly size: number | undefined;
}

export interface OpenRemoteFile extends RemoteFile {
  /** Has at least one byte. Must be consumed or destroyed; whatever ends it early is a `transient` failure. */
  readonly body: Readable;
}

export type NoRemoteFile =
  /** The address, or one that it redirects to, must not be fetched from; the reason continues 'the URL ...'. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing was sent; `again` when the same request may be answered later. */
  | { readonly kind: 'failed'; readonly message: string; readonly again: boolean };

export interface RemoteFiles {
  /** Whether something can be fetched: hangs up after the first byte. */
  probe(url: URL, signal: AbortSignal): Promise<RemoteFile | NoRemoteFile>;
  /** Fetches from the beginning. Rejects only when aborted. */
  fetch(url: URL, signal: AbortSignal): Promise<OpenRemoteFile | NoRemoteFile>;
}
