// A launcher of a sample plugin that waits for the resident process (config/samples/launchers.ts): what the system shows of it
// in /proc, and its pipes.

import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, readSync, writeSync } from 'node:fs';
import { basename, dirname, isAbsolute } from 'node:path';
import { CALLER_FD } from '../../config/samples/launchers.ts';
import { type SampleScript, scriptOf } from '../../config/samples/run-sample.ts';
import { decodeUtf8 } from '../../engine/model/utf8.ts';
import { codeOf, rejected } from '../../engine/runtime/failure.ts';
import type { Clock } from '../../engine/runtime/time.ts';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
const READ_BYTES = 64 * 1024;
/** How often a pipe is tried that is empty or full. */
const RETRY_MS = 5;

export class SampleCaller implements Disposable {
  readonly script: SampleScript;
  readonly env: Readonly<Record<string, string>>;
  readonly #clock: Clock;
  readonly #stdin: number;
  readonly #outputs: Readonly<Record<'stdout' | 'stderr', { readonly fd: number; text: string }>>;

  /** @throws when the launcher was started in another way than a plugin host does it, or is gone */
  constructor(pid: number, clock: Clock) {
    this.#clock = clock;
    const [, program = '', ...args] = listOf(pid, 'cmdline');
    const script = scriptOf([basename(dirname(program)), basename(program), ...args]);
    if (typeof script === 'string') throw rejected(script);
    this.script = script;
    this.env = Object.fromEntries(listOf(pid, 'environ').map((entry) => partsOf(entry)));
    const paths = script.args.slice(script.kind === 'import' ? 0 : 1);
    if (![...paths, this.dataFiles || '/'].every(isAbsolute)) throw rejected('paths are relative');
    if (textOf(pid, 'limits') !== textOf('self', 'limits')) throw rejected('it has limits of its own');
    using opened = new DisposableStack();
    const open = (fd: number, flags: number): number => {
      const own = openSync(`/proc/${pid}/fd/${fd}`, flags | O_NONBLOCK);
      opened.defer(() => closeSync(own));
      return own;
    };
    this.#stdin = open(CALLER_FD.stdin, O_RDONLY);
    const [stdout, stderr] = [open(CALLER_FD.stdout, O_WRONLY), open(CALLER_FD.stderr, O_WRONLY)];
    // Others, such as terminals, may make us wait.
    if (![stdout, stderr].every((fd) => fstatSync(fd).isFIFO())) throw rejected('an output is no pipe');
    this.#outputs = { stdout: { fd: stdout, text: '' }, stderr: { fd: stderr, text: '' } };
    opened.move();
  }

  [Symbol.dispose](): void {
    for (const fd of [this.#stdin, this.#outputs.stdout.fd, this.#outputs.stderr.fd]) closeSync(fd);
  }

  get dataFiles(): string {
    return this.env.DATA_FILES ?? '';
  }

  async *stdin(signal: AbortSignal): AsyncGenerator<Buffer> {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (;;) {
      const read = await this.#attempt(() => readSync(this.#stdin, buffer), signal);
      if (read === 0) return;
      yield Buffer.from(buffer.subarray(0, read));
    }
  }

  /** Keeps the line for {@link tell}. If this process crashes, the script is repeated and nothing was printed twice. */
  add(line: string, output: 'stdout' | 'stderr'): void {
    this.#outputs[output].text += `${line}\n`;
  }

  /** Writes what was added. Fails if the reader is gone. */
  async tell(signal: AbortSignal): Promise<void> {
    for (const { fd, text } of Object.values(this.#outputs)) {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; ) at += await this.#attempt(() => writeSync(fd, bytes, at), signal);
    }
  }

  async #attempt(move: () => number, signal: AbortSignal): Promise<number> {
    for (;;) {
      try {
        return move();
      } catch (error) {
        if (codeOf(error) !== 'EAGAIN') throw error;
      }
      await this.#clock.sleep(RETRY_MS, signal);
    }
  }
}

/**
 * Opens the pipe of a launcher for a reply. Undefined when none of this process id waits for its first one.
 * @param requests descriptor of the pipe of requests, which such a launcher has open, too
 */
export function openReply(pid: number, requests: number): number | undefined {
  try {
    const asked = readlinkSync(`/proc/${pid}/fd/${CALLER_FD.requests}`);
    if (asked !== readlinkSync(`/proc/self/fd/${requests}`)) return undefined;
    return openSync(`/proc/${pid}/fd/${CALLER_FD.reply}`, O_WRONLY | O_NONBLOCK);
  } catch (error) {
    if (NONE_WAITS.includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Its process, or its descriptor, is gone; or it is another user's. */
const NONE_WAITS = ['ENOENT', 'ESRCH', 'EACCES'];

function textOf(pid: number | 'self', file: string): string {
  const text = decodeUtf8(readFileSync(`/proc/${pid}/${file}`));
  if (text === undefined) throw rejected(`${file} is not UTF-8`);
  return text;
}

/** Each word ends with NUL. */
const listOf = (pid: number, file: string): readonly string[] => textOf(pid, file).split('\0').slice(0, -1);

function partsOf(entry: string): readonly [string, string] {
  const at = entry.indexOf('=');
  return [entry.slice(0, at), entry.slice(at + 1)];
}
