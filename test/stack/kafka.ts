// A Kafka cluster for tests: librdkafka's mock cluster (kafka-mock.c), compiled once per version of its source. In memory,
// about 5,000 messages a partition; no administration, no TLS. Faults are put in by name; ended by pid at teardown.

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';

const SOURCE = join(import.meta.dirname, 'kafka-mock.c');
const API = { produce: 0, fetch: 1, metadata: 3, offsetCommit: 8, findCoordinator: 10, joinGroup: 11 } as const;
const STOP_MS = 5_000;
const CODE = { notLeader: 6, timedOut: 7, tooLarge: 10, coordinatorLoading: 14, groupRefused: 30 } as const;

export interface KafkaOptions {
  /** Partitions by topic. Others are made with 4 partitions when they are first asked for. */
  readonly topics?: Readonly<Record<string, number>>;
  readonly brokers?: number;
}

type MockProcess = ChildProcessByStdio<Writable, Readable, null>;

interface Teardown {
  teardown(fn: () => unknown): void;
}

export class KafkaCluster implements AsyncDisposable {
  readonly #child: MockProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #program: string;
  readonly addresses: string;
  /** Rejects when it ends by itself: librdkafka's mock has assertions of its own. */
  readonly gone: Promise<never>;

  private constructor(child: MockProcess, lines: AsyncIterator<string>, program: string, addresses: string) {
    this.#child = child;
    this.#lines = lines;
    this.#program = program;
    this.addresses = addresses;
    const gone = Promise.withResolvers<never>();
    this.gone = gone.promise;
    this.gone.catch(() => undefined);
    child.once('close', (code, signal) => gone.reject(new Error(`the mock cluster ended with ${code ?? signal}`)));
  }

  static async start(t: Teardown, { topics = {}, brokers = 1 }: KafkaOptions = {}): Promise<KafkaCluster> {
    const program = await compiled();
    const named = Object.entries(topics).map(([topic, partitions]) => `${topic}:${partitions}`);
    const child = spawn(program, ['serve', String(brokers), ...named], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const cluster = new KafkaCluster(child, lines, program, (await lines.next()).value ?? '');
    t.teardown(() => cluster[Symbol.asyncDispose]());
    if (cluster.addresses === '') throw new Error('the mock cluster did not start');
    return cluster;
  }

  get servers(): readonly { readonly host: string; readonly port: number }[] {
    return this.addresses.split(',').map((address) => {
      const [host = '', port] = address.split(':');
      return { host, port: Number(port) };
    });
  }

  createTopic(topic: string, partitions: number): Promise<void> {
    return this.#order(`topic ${topic} ${partitions}`);
  }

  /** The next requests of that kind are answered with that error. */
  fail(api: keyof typeof API, code: keyof typeof CODE, times: number): Promise<void> {
    return this.#order(`fail ${API[api]} ${times} ${CODE[code]}`);
  }

  /** Its connections are closed and refused until it is up again. Brokers count from 1. */
  down(broker = 1): Promise<void> {
    return this.#order(`down ${broker}`);
  }

  up(broker = 1): Promise<void> {
    return this.#order(`up ${broker}`);
  }

  /** Hangs from now on: connections stay open and nothing is answered. */
  pause(): void {
    this.#child.kill('SIGSTOP');
    // Sent is not stopped: until the kernel has reached all threads, one of them may answer yet.
    const tasks = `/proc/${this.#child.pid}/task`;
    const isStopped = (task: string): boolean => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
    const begun = Date.now();
    while (!readdirSync(tasks).every(isStopped))
      if (Date.now() - begun > STOP_MS) throw new Error(`the cluster does not stop within ${STOP_MS} ms`);
  }

  continue(): void {
    this.#child.kill('SIGCONT');
  }

  /** The values of partition 0 as librdkafka, another client, reads them. */
  async read(topic: string, count: number): Promise<readonly string[]> {
    const args = ['read', this.addresses, topic, String(count)];
    const { stdout } = await promisify(execFile)(this.#program, args);
    return stdout.split('\n').slice(0, -1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, 'close');
    // It keeps nothing that an orderly end would save.
    this.#child.kill('SIGKILL');
    await closed;
  }

  async #order(line: string): Promise<void> {
    this.#child.stdin.write(`${line}\n`);
    const { value } = await this.#lines.next();
    if (value !== 'ok') throw new Error(`the mock cluster answered '${value}' to '${line}'`);
  }
}

/** The program, from a cache outside the tree. */
async function compiled(): Promise<string> {
  const version = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const dir = join(tmpdir(), `longshore-stack-${process.getuid?.() ?? 0}`);
  const program = join(dir, `kafka-mock-${version}`);
  if (existsSync(program)) return program;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  // Several clusters of one process may compile it at the same time.
  const own = `${program}.${randomUUID()}`;
  await promisify(execFile)('gcc', ['-O2', '-Wall', '-o', own, SOURCE, '-lrdkafka']);
  await rename(own, program);
  return program;
}
