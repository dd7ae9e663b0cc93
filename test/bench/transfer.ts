// The program transfer.c, compiled once per version of its source: uploads that it sends, and the store that it is.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fetch } from 'undici';

const SOURCE = join(import.meta.dirname, 'transfer.c');
const MB = 1e6;

export interface Sent {
  /** 1,000,000 bytes a second, from connecting to the end of the answer. */
  readonly mbPerSecond: number;
  /** CRC-32 in hex of the file, when its name ends in `.checked`. */
  readonly crc: string;
  /** What the server says that it got. */
  readonly received: Received;
}

export interface Received {
  readonly bytes: number;
  /** As far as the server looked. */
  readonly crc: string;
}

/** One upload of a part `dataFile` as multipart/form-data; throws unless it is answered 2xx. */
export async function sendUpload(port: number, path: string, fileName: string, bytes: number): Promise<Sent> {
  const args = ['send', String(port), path, fileName, String(bytes)];
  const { stdout } = await promisify(execFile)(await compiled(), args);
  const [, ns = '', status = '', crc = '', answer = ''] = /^(\d+) (\d+) (\w+) (.*)$/s.exec(stdout) ?? [];
  if (!status.startsWith('2')) throw new Error(`an upload was answered ${status}: ${answer}`);
  const received = JSON.parse(answer) as Received;
  if (received.bytes < bytes) throw new Error(`${received.bytes} of ${bytes} bytes arrived`);
  return { mbPerSecond: bytes / MB / (Number(ns) / 1e9), crc, received };
}

/** An object store that throws away what it is given. */
export class NullStore implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(): Promise<NullStore> {
    const child = spawn(await compiled(), ['store'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = await once(child.stdout, 'data');
    return new NullStore(child, Number(line));
  }

  /** What was put there; its CRC-32 when the name ends in `.checked`. */
  async head(path: string): Promise<Received> {
    const { headers } = await fetch(`http://127.0.0.1:${this.port}${path}`, { method: 'HEAD' });
    return { bytes: Number(headers.get('content-length')), crc: (headers.get('etag') ?? '').replaceAll('"', '') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** The program, from a cache outside the tree. */
async function compiled(): Promise<string> {
  const version = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const dir = join(tmpdir(), `longshore-bench-${process.getuid?.() ?? 0}`);
  const program = join(dir, `transfer-${version}`);
  if (existsSync(program)) return program;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const own = `${program}.${process.pid}`;
  await promisify(execFile)('gcc', ['-O2', '-Wall', '-o', own, SOURCE, '-lpthread']);
  await rename(own, program);
  return program;
}
