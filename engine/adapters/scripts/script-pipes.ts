// The pipes for the standard input, output and error of scripts. Node.js connects children with sockets, which cannot be opened
// by name: `cat < /dev/stdin` and `echo > /dev/stderr` fail with ENXIO. So we use named pipes. `mkfifo` creates a batch of them
// in a folder of this process; a name is removed as soon as its script has started.
//
// A pipe:  made --output | input--> our end open --writer | reader--> the script's end open --spawned--> stream --close--> gone

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { close, closeSync, constants, open, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { Failure, messageOf } from '../../runtime/failure.ts';
import { exists, removeFile } from '../../runtime/files.ts';
import type { Clock } from '../../runtime/time.ts';

const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = constants;
const openFile = promisify(open);
const closeFile = promisify(close);

/** Starting a program costs a large process milliseconds, so 48 scripts share one start. */
const BATCH = 96;
const PLACES = '/usr/local/bin:/usr/bin:/bin';
/** How long a script that reopens its input after the end of the input may wait for that end. */
const REOPENED_MS = 20;

export class ScriptPipes implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #mkfifo: string;
  readonly #places: readonly string[];
  readonly #runElsewhere: RunElsewhere;
  #names: string[] = [];
  #making: Promise<void> | undefined;
  #last = 0;
  /** Exclusive to this process; undefined until the first pipe is needed. */
  #dir: string | undefined;

  /**
   * @param mkfifo name or path of the program that creates named pipes
   * @param runElsewhere runs it without forking this process, if that is possible
   * @param places for the folder with the pipes. By default it is in memory: two files for each script, which are removed at
   * once, make it expensive for all others to create files on the same disk (actors/plugin-host/spare-entries.ts)
   */
  constructor(
    clock: Clock,
    mkfifo = 'mkfifo',
    runElsewhere: RunElsewhere = () => undefined,
    places: readonly string[] = ['/dev/shm', tmpdir()],
  ) {
    this.#clock = clock;
    this.#places = places;
    this.#mkfifo = mkfifo;
    this.#runElsewhere = runElsewhere;
  }

  /** A pipe that a script writes to. */
  async output(): Promise<OutputPipe> {
    return await orNoPipe(async () => {
      // Opening the read end does not block.
      const { path, fd } = await this.#open(O_RDONLY | O_NONBLOCK);
      return new OutputPipe(path, fd);
    });
  }

  /** A pipe that a script reads from. */
  async input(): Promise<InputPipe> {
    return await orNoPipe(async () => {
      // The write end cannot be opened without a read end, so this descriptor serves as both for a moment.
      const { path, fd: both } = await this.#open(O_RDWR);
      let writer: number | undefined;
      try {
        writer = await openFile(path, O_WRONLY | O_NONBLOCK);
        return new InputPipe(path, writer, await openFile(path, O_RDONLY), this.#clock);
      } catch (error) {
        if (writer !== undefined) await closeFile(writer);
        await removeFile(path);
        throw error;
      } finally {
        await closeFile(both);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#making?.catch(() => undefined);
    const dir = this.#dir;
    this.#dir = undefined;
    this.#names = [];
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  }

  async #open(flags: number): Promise<{ readonly path: string; readonly fd: number }> {
    for (let attempts = 1; ; attempts++) {
      const path = await this.#take();
      try {
        // Blocks for microseconds: see openForWriting.
        return { path, fd: openSync(path, flags) };
      } catch (error) {
        await removeFile(path);
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempts > 1) throw error;
        // Something cleaned up the folder of temporary files.
        this.#names = [];
        this.#dir = undefined;
      }
    }
  }

  async #take(): Promise<string> {
    for (;;) {
      const path = this.#names.pop();
      if (path !== undefined) return path;
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      await this.#making;
    }
  }

  async #make(): Promise<void> {
    // Something may have cleaned it up.
    if (this.#dir === undefined || !(await exists(this.#dir))) this.#dir = await makeFolder(this.#places);
    const dir = this.#dir;
    const names = Array.from({ length: BATCH }, () => `p${++this.#last}`);
    const command = { program: this.#mkfifo, args: ['-m', '600', ...names], cwd: dir, env: { PATH: PLACES } };
    const { code } = await (this.#runElsewhere(command) ?? runHere(command)).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOENT') throw cause;
      throw new Failure('defect', `program ${this.#mkfifo} not found in ${PLACES}`, { cause });
    });
    if (code !== 0) throw new Failure('transient', `${this.#mkfifo} in ${dir} ended with ${code}`);
    this.#names = names.map((name) => join(dir, name));
  }
}

/** In the first place that has room. */
async function makeFolder(places: readonly string[]): Promise<string> {
  let fault: unknown;
  for (const place of places)
    try {
      return await mkdtemp(join(place, 'longshore-'));
    } catch (error) {
      fault = error;
    }
  throw fault;
}

interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Undefined: not possible now. */
type RunElsewhere = (command: Command) => Promise<{ readonly code: number | null }> | undefined;

async function runHere({ program, args, cwd, env }: Command): Promise<{ readonly code: number | null }> {
  const [code] = await once(spawn(program, args, { cwd, env, stdio: 'ignore' }), 'exit');
  return { code };
}

export class OutputPipe {
  readonly path: string;
  #reader: number | undefined;

  constructor(path: string, reader: number) {
    this.path = path;
    this.#reader = reader;
  }

  /** The script's output. Call it after the script has opened the write end: a pipe without writers is at its end. */
  stream(): Readable {
    const fd = this.#reader;
    this.#reader = undefined;
    return new Socket({ ...(fd === undefined ? {} : { fd }), readable: true, writable: false });
  }

  /** Removes the name, unless that was done. Also closes the pipe, unless its stream was taken. */
  async release(isNamed = true): Promise<void> {
    const fd = this.#reader;
    this.#reader = undefined;
    if (fd !== undefined) await closeFile(fd);
    if (isNamed) await removeFile(this.path);
  }
}

export class InputPipe {
  readonly #path: string;
  readonly #clock: Clock;
  #writer: number | undefined;
  #reader: number | undefined;
  #released = false;

  constructor(path: string, writer: number, reader: number, clock: Clock) {
    this.#path = path;
    this.#writer = writer;
    this.#reader = reader;
    this.#clock = clock;
  }

  /** The script's end; the caller does not close it. */
  get reader(): number {
    return this.#reader ?? -1;
  }

  /** Call it after the script has started. */
  stream(): Writable {
    const fd = this.#writer;
    this.#writer = undefined;
    const socket = new Socket({ ...(fd === undefined ? {} : { fd }), readable: false, writable: true });
    socket.once('close', () => this.#endForLateReaders());
    return socket;
  }

  /**
   * Call it when the script has started or failed to start. Closes our copy of its end, so that we notice when it stops
   * reading.
   */
  async started(): Promise<void> {
    const fd = this.#reader;
    this.#reader = undefined;
    if (fd !== undefined) await closeFile(fd);
  }

  /** Call it when the script has ended. */
  async release(): Promise<void> {
    this.#released = true;
    const fd = this.#writer;
    this.#writer = undefined;
    if (fd !== undefined) await closeFile(fd);
    await this.started();
    await removeFile(this.#path);
  }

  /**
   * A script may open /dev/stdin after all input was written. Opening a named pipe blocks until another process opens it for
   * writing, unlike opening an anonymous pipe. So we open it for writing and close it again, which signals the end of the
   * input.
   */
  #endForLateReaders(): void {
    if (this.#released) return;
    open(this.#path, O_WRONLY | O_NONBLOCK, (error, fd) => {
      // ENXIO: no process has it open.
      if (!error) close(fd, () => undefined);
      if (!this.#released) this.#clock.after(REOPENED_MS, () => this.#endForLateReaders());
    });
  }
}

/**
 * Opens a script's end of an output by name. Never blocks: a pipe waits for no disk and, opened in this order, for no reader.
 */
export function openForWriting(path: string): number {
  try {
    const both = openSync(path, O_RDWR);
    try {
      return openSync(path, O_WRONLY);
    } finally {
      closeSync(both);
    }
  } catch (error) {
    throw noPipe(error);
  }
}

/** A failure here is not the script's fault: out of descriptors, a full disk, a folder that was cleaned up. */
async function orNoPipe<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw noPipe(error);
  }
}

function noPipe(cause: unknown): Failure {
  const kind = cause instanceof Failure ? cause.kind : 'transient';
  return new Failure(kind, `cannot create a pipe for a script: ${messageOf(cause)}`, { cause });
}
