// The files on their way to the server. They go on while other pages are shown.
//
//   found ── chosen again, or used as it is ─┐
//   waiting ── one of three ends ─▶ sending ─┴─▶ done
//                                    │ ▲
//                     paused, failed ▼ │ resumed; a lost connection is back
// `found`: the server has it from before this page was loaded.

import type { components } from '../../../../typescript/src/installer.ts';
import { changeTimes, dropOthers, keepChangeTime } from '../../api/begun-uploads.ts';
import { connections } from '../../api/reachability.ts';
import { installer, session } from '../../api/session.ts';
import { Store } from '../../api/store.ts';
import type { Sending } from '../../api/tus.ts';
import { tellProblem } from '../../components/toasts.tsx';

export interface Transfer {
  readonly key: string;
  readonly name: string;
  readonly size: number;
  readonly sent: number;
  readonly state: 'found' | 'waiting' | 'sending' | 'paused' | 'failed' | 'done';
  readonly uploadId?: string;
  /** Of the file, in milliseconds since 1970. Undefined if another browser or program sent the beginning. */
  readonly lastModified?: number | undefined;
  /** Bytes per second, of the last seconds. */
  readonly speed?: number;
  /** Why it failed, if the server says so. */
  readonly fault?: string;
}

/** The server allows four requests of a user that send files. */
const AT_ONCE = 3;
/** How much the newest second counts in the speed. */
const NEWEST = 0.3;
const SAMPLE_MS = 500;

export const transfers = new Store<readonly Transfer[]>([]);

const files = new Map<string, File>();
const sendings = new Map<string, Sending>();
let owner: number | undefined;
let last = 0;

const find = (key: string): Transfer | undefined => transfers.value.find((one) => one.key === key);

function change(key: string, more: Partial<Transfer>): void {
  transfers.set(transfers.value.map((one) => (one.key === key ? { ...one, ...more } : one)));
}

/** A sign-in that ends pauses; that of another person begins anew. */
session.subscribe(() => {
  const user = session.value?.self.userId;
  if (user === owner) return;
  for (const { key, state } of transfers.value) if (state === 'sending' || state === 'waiting') pause(key);
  if (user !== undefined) forgetAll();
});

connections.subscribe(() => {
  for (const { key, state, fault } of transfers.value) if (state === 'failed' && !fault) resume(key);
});

/** Leaves what the server has, and knows nothing of it any more. */
export function forgetAll(): void {
  for (const sending of sendings.values()) sending.pause();
  files.clear();
  sendings.clear();
  transfers.set([]);
}

/** Asks the server for uploads from before this page was loaded. */
export async function findUploads(signal: AbortSignal): Promise<void> {
  owner = session.value?.self.userId;
  const { data } = await installer.GET('/uploads', { signal });
  const known = new Set(transfers.value.map(({ uploadId }) => uploadId));
  const uploads = data as unknown as readonly components['schemas']['ResumableUpload'][];
  dropOthers(owner, new Set(uploads.map(({ uploadId }) => uploadId)));
  const times = changeTimes(owner);
  const found = uploads
    .filter(({ uploadId }) => !known.has(uploadId))
    .map(
      ({ uploadId, fileName, length, offset }): Transfer => ({
        ...{ key: uploadId, uploadId, name: fileName, size: length, sent: offset, state: 'found' },
        lastModified: times[uploadId],
      }),
    );
  transfers.set([...transfers.value, ...found]);
}

/**
 * A file that the server has a part of is continued, if it was sent from this browser and has not been changed since. Otherwise it is
 * another file: its parts might not fit together.
 */
export function addFiles(chosen: readonly File[]): void {
  for (const file of chosen) {
    const before = transfers.value.find(
      ({ name, size, lastModified }) => name === file.name && size === file.size && lastModified === file.lastModified,
    );
    if (before && before.state !== 'found') continue;
    if (before) {
      files.set(before.key, file);
      change(before.key, { state: before.sent === before.size ? 'done' : 'waiting' });
      continue;
    }
    last += 1;
    const key = `file-${last}`;
    files.set(key, file);
    const { name, size, lastModified } = file;
    transfers.set([...transfers.value, { key, name, size, lastModified, sent: 0, state: 'waiting' }]);
  }
  next();
}

export const takeFound = (key: string): void => change(key, { state: 'done' });

export function pause(key: string): void {
  sendings.get(key)?.pause();
  change(key, { state: 'paused' });
  next();
}

export function resume(key: string): void {
  change(key, { state: 'waiting' });
  next();
}

/** Also at the server. */
export async function remove(key: string): Promise<void> {
  const gone = find(key);
  sendings.get(key)?.pause();
  files.delete(key);
  sendings.delete(key);
  transfers.set(transfers.value.filter((one) => one.key !== key));
  next();
  if (gone?.uploadId === undefined) return;
  await installer
    .DELETE('/uploads/{id}', {
      params: { path: { id: gone.uploadId }, header: { 'Tus-Resumable': '1.0.0' } },
    } as never)
    .catch(tellProblem);
}

function next(): void {
  const busy = transfers.value.filter(({ state }) => state === 'sending').length;
  for (const { key } of transfers.value
    .filter(({ state }) => state === 'waiting')
    .slice(0, Math.max(0, AT_ONCE - busy)))
    void start(key);
}

async function start(key: string): Promise<void> {
  change(key, { state: 'sending', speed: 0 });
  const { send } = await import('../../api/tus.ts');
  const file = files.get(key);
  const transfer = find(key);
  // Paused or removed while the script was loaded.
  if (!file || transfer?.state !== 'sending') return;
  const known = sendings.get(key);
  if (known) return known.start();
  const sending = send(file, {
    uploadId: transfer.uploadId,
    onCreated: (uploadId) => {
      change(key, { uploadId });
      keepChangeTime(session.value?.self.userId, uploadId, file.lastModified);
    },
    onProgress: measured(key),
    onDone: () => ended(key, { state: 'done', sent: file.size }),
    onFailed: (fault) => ended(key, { state: 'failed', fault }),
  });
  sendings.set(key, sending);
  sending.start();
}

function ended(key: string, more: Partial<Transfer>): void {
  change(key, more);
  next();
}

/** Tells the progress twice a second at most. */
function measured(key: string): (sent: number) => void {
  let before: { readonly atMs: number; readonly sent: number } | undefined;
  return (sent) => {
    const atMs = performance.now();
    const passedMs = before ? atMs - before.atMs : 0;
    if (before && passedMs < SAMPLE_MS) return;
    // After a pause or a cut the count begins anew.
    const newest = before && sent > before.sent ? ((sent - before.sent) / passedMs) * 1_000 : undefined;
    before = { atMs, sent };
    const old = find(key)?.speed ?? 0;
    const speed = newest === undefined ? old : old === 0 ? newest : old * (1 - NEWEST) + newest * NEWEST;
    change(key, { sent, speed });
  };
}
