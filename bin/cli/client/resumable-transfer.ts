// Sends large files as resumable uploads (tus). If a command was killed, the next one continues with what the server already
// has. Which upload belongs to a file is remembered below `$XDG_STATE_HOME/longshore/uploads`, by server, caller, path, size
// and time of the last change. What no command has used for 30 days is forgotten. Connections that break are retried; each
// success resets the delays and the attempts.

import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { Response } from 'undici';
import { isObject, parseJson } from '../../../engine/model/json.ts';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { Failure } from '../../../engine/runtime/failure.ts';
import { JoinedSignal } from '../../../engine/runtime/joined-signal.ts';
import { Backoff, DELAYS } from '../../../engine/runtime/retry.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { ApiError } from '../command.ts';
import { type ApiCall, withDeadline } from './api-call.ts';
import { digestOfFile } from './content-digests.ts';
import { ATTEMPTS, delayAfter, isPassing, repeating } from './repeating.ts';

/** Files that have more bytes than this, all together, are sent this way. */
export const RESUMABLE_FROM_BYTES = 64 * 1024 * 1024;

type Call = (
  path: string,
  init: Partial<Pick<ApiCall, 'method' | 'headers' | 'body'>>,
  signal: AbortSignal,
) => Promise<Response>;

export interface ResumableTransferOptions {
  readonly call: Call;
  /** Server and caller: an upload belongs to both. */
  readonly account: string;
  /** Where uploads are remembered. */
  readonly stateDir: string;
  readonly clock: Clock;
  /** Called with the bytes that were sent since the last call; negative when some have to be sent again. */
  readonly sent: (bytes: number) => void;
}

export const uploadStateDir = (env: Readonly<Record<string, string | undefined>>): string =>
  join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'longshore', 'uploads');

const TUS = { 'tus-resumable': '1.0.0' } as const;
const READ_BYTES = 256 * 1024;
/** A connection that takes no bytes for so long is given up. */
const STALLED_MS = 60_000;
/** Servers keep an upload for a day, unless they are configured otherwise. */
const REMEMBERED_MS = 30 * 24 * 3_600_000;

interface Sending {
  readonly file: string;
  readonly name: string;
  readonly size: number;
  readonly stateFile: string;
}

export class ResumableTransfer {
  readonly #options: ResumableTransferOptions;
  readonly #sent: Sending[] = [];

  constructor(options: ResumableTransferOptions) {
    this.#options = options;
  }

  /** Returns the ids of the finished uploads, in the order of the files; undefined when the server has no resumable uploads. */
  async send(files: readonly string[], signal: AbortSignal): Promise<readonly string[] | undefined> {
    await mkdir(this.#options.stateDir, { recursive: true, mode: 0o700 });
    await this.#forgetOld();
    const ids: string[] = [];
    for (const file of files) {
      const sending = await this.#describe(file);
      this.#sent.push(sending);
      const id = await this.#sendFile(sending, signal);
      if (id === undefined) return undefined;
      ids.push(id);
    }
    return ids;
  }

  /** Makes a dataset of the uploads with `create`, which has a key and is repeated while the server is away. */
  async finish(create: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
    const response = await repeating(create, this.#options.clock, signal);
    for (const { stateFile } of this.#sent) await rm(stateFile, { force: true });
    return response;
  }

  /** Of files that were changed, or are sent no more. */
  async #forgetOld(): Promise<void> {
    const { stateDir, clock } = this.#options;
    for (const name of await readdir(stateDir)) {
      const stateFile = join(stateDir, name);
      // Another command may forget it at the same time.
      const used = (await stat(stateFile).catch(() => undefined))?.mtimeMs;
      if (used !== undefined && clock.now() - used > REMEMBERED_MS) await rm(stateFile, { force: true });
    }
  }

  async #describe(file: string): Promise<Sending> {
    const { size, mtimeMs } = await stat(file);
    const identity = JSON.stringify([this.#options.account, await realpath(file), size, mtimeMs]);
    const key = createHash('sha256').update(identity).digest('hex').slice(0, 32);
    return { file, name: basename(file), size, stateFile: join(this.#options.stateDir, `${key}.json`) };
  }

  async #sendFile(sending: Sending, signal: AbortSignal): Promise<string | undefined> {
    const { clock, sent } = this.#options;
    const backoff = new Backoff(DELAYS.batch);
    let id = await rememberedIn(sending.stateFile, clock);
    let counted = 0;
    let key = randomUUID();
    for (;;) {
      try {
        const at = id === undefined ? undefined : await this.#offset(id, signal);
        if (at === undefined) {
          id = await this.#create(sending, key, signal);
          if (id === undefined) return undefined;
          // The server may forget the upload; then another one is created.
          key = randomUUID();
        }
        const offset = at ?? 0;
        sent(offset - counted);
        if (offset > counted) backoff.succeeded();
        counted = offset;
        if (offset === sending.size) return id;
        await this.#append(
          id as string,
          sending,
          offset,
          (bytes) => {
            counted += bytes;
            sent(bytes);
          },
          signal,
        );
        sent(sending.size - counted);
        return id;
      } catch (error) {
        const mayPass = isPassing(error) || isBehind(error);
        if (signal.aborted || !mayPass || backoff.failures + 1 >= ATTEMPTS) throw error;
        await clock.sleep(delayAfter(error, backoff), signal);
      }
    }
  }

  /** Undefined when the server has no such upload any more. */
  async #offset(id: string, signal: AbortSignal): Promise<number | undefined> {
    try {
      const init = { method: 'HEAD', headers: TUS };
      const { headers } = await this.#options.call(`/uploads/${id}`, init, withDeadline(signal));
      const offset = headers.get('upload-offset');
      return offset === null ? undefined : Number(offset);
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 410)) return undefined;
      throw error;
    }
  }

  async #create(
    { file, name, size, stateFile }: Sending,
    key: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const metadata = `filename ${Buffer.from(name).toString('base64')}`;
    const headers = {
      ...TUS,
      'idempotency-key': key,
      'repr-digest': await digestOfFile(file, signal),
      'upload-length': String(size),
      'upload-metadata': metadata,
    };
    try {
      const response = await this.#options.call('/uploads', { method: 'POST', headers }, withDeadline(signal));
      const id = response.headers.get('location')?.split('/').at(-1);
      if (id === undefined) throw new Failure('defect', 'the server created an upload without a Location');
      await writeFile(stateFile, JSON.stringify({ id, name }), { mode: 0o600 });
      return id;
    } catch (error) {
      // A server of an earlier version.
      if (error instanceof ApiError && (error.status === 404 || error.status === 405)) return undefined;
      throw error;
    }
  }

  async #append(
    id: string,
    { file, size }: Sending,
    offset: number,
    sent: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await demandSize(file, size);
    const stalled = (): Failure =>
      new Failure('transient', `the server took no bytes for ${STALLED_MS / 1000} s`, { unreachable: true });
    using watch = new Watch(this.#options.clock, stalled, signal);
    // Not a Blob of the file: Node.js counts its bytes modulo 4 GiB.
    const body = counted(createReadStream(file, { start: offset, highWaterMark: READ_BYTES }), (bytes) => {
      watch.moved();
      sent(bytes);
    });
    const headers = { ...TUS, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' };
    try {
      await this.#options.call(`/uploads/${id}`, { method: 'PATCH', headers, body }, watch.signal);
    } catch (error) {
      await demandSize(file, size);
      throw error;
    }
  }
}

/** The server has other bytes than we thought; the next attempt asks for them. */
const isBehind = (error: unknown): boolean => error instanceof ApiError && error.status === 409;

async function demandSize(file: string, size: number): Promise<void> {
  if ((await stat(file)).size !== size) throw new Failure('rejected', `${file} has changed while it was sent`);
}

async function* counted(content: AsyncIterable<Uint8Array>, sent: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    yield piece;
    sent(piece.length);
  }
}

/** Aborts its signal when nothing moves for a while. */
class Watch implements Disposable {
  readonly #clock: Clock;
  readonly #stalled: () => Error;
  readonly #joined: JoinedSignal;
  #cancel: () => void;

  constructor(clock: Clock, stalled: () => Error, signal: AbortSignal) {
    this.#clock = clock;
    this.#stalled = stalled;
    this.#joined = new JoinedSignal(signal);
    this.#cancel = this.#wait();
  }

  get signal(): AbortSignal {
    return this.#joined.signal;
  }

  moved(): void {
    this.#cancel();
    this.#cancel = this.#wait();
  }

  [Symbol.dispose](): void {
    this.#cancel();
    this.#joined[Symbol.dispose]();
  }

  #wait(): () => void {
    return this.#clock.after(STALLED_MS, () => this.#joined.abort(this.#stalled()));
  }
}

async function rememberedIn(stateFile: string, clock: Clock): Promise<string | undefined> {
  try {
    const state = parseJson(decodeUtf8(await readFile(stateFile)) ?? '');
    if (!isObject(state) || !/^[0-9a-f]{32}$/.test(String(state.id))) return undefined;
    const used = new Date(clock.now());
    await utimes(stateFile, used, used);
    return String(state.id);
  } catch {
    return undefined;
  }
}
