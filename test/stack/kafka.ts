// An Apache Kafka for tests: brokers that are controllers too (KRaft), on ports and in a directory of their own, ended by pid
// at teardown. Anybody may do anything at the plain listeners; `secure` adds TLS, and accounts whose permissions are checked.

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Admin, Kafka } from 'kafkajs';
import { KafkaClient } from '../../engine/adapters/kafka/kafka-client.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { freePorts } from '../support/ports.ts';
import { makeCertificate } from './certificate.ts';
import { brokerSettings, type KafkaAccount, type KafkaPorts, propertiesOf } from './kafka-broker.ts';
import { kafkaProgram } from './kafka-jars.ts';
import { KafkaRelay } from './kafka-relay.ts';
import { type ServerCommand, ServerProcess } from './server-process.ts';

const BROKER_MIB = 256;
const TOOL_MIB = 128;
const LOOK_MS = 50;
const START_MS = 120_000;
const STOP_MS = 5_000;
const READ_MS = 60_000;
const CLUSTER_ID = 'TG9uZ3Nob3JlLXRlc3RzMQ';

export interface KafkaOptions {
  /** Partitions by topic. Others are made with 4 partitions when they are first asked for. */
  readonly topics?: Readonly<Record<string, number>>;
  /** With three of them each partition has a copy on all, and two must have what is acknowledged. */
  readonly brokers?: number;
  /** With TLS, and with TLS and these accounts. */
  readonly secure?: { readonly accounts: readonly KafkaAccount[] };
  /** Its own address is that of a relay. */
  readonly relayed?: boolean;
}

interface TopicOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Brokers that have the only partition, the leader first. */
  readonly on?: readonly number[];
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Broker {
  readonly ports: KafkaPorts;
  readonly command: ServerCommand;
  process: ServerProcess;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

export class KafkaCluster implements AsyncDisposable {
  readonly #brokers: readonly Broker[];
  readonly #dir: string;
  readonly #kafka: Kafka;
  readonly #relay: KafkaRelay | undefined;
  #admin: Promise<Admin> | undefined;

  private constructor(dir: string, brokers: readonly Broker[], relay?: KafkaRelay) {
    this.#dir = dir;
    this.#brokers = brokers;
    this.#relay = relay;
    this.#kafka = clientOf(this.addresses.split(','));
  }

  static async start(t: Teardown, options: KafkaOptions = {}): Promise<KafkaCluster> {
    const { topics = {}, brokers: count = 1, secure, relayed = false } = options;
    const dir = await mkdtemp(join(tmpdir(), 'longshore-kafka-'));
    t.teardown(() => rm(dir, { recursive: true, force: true }));
    const certificate = secure && makeCertificate(dir);
    const found = await freePorts(count * 5);
    const all = Array.from({ length: count }, (_, i): KafkaPorts => {
      const [plain = 0, controller = 0, tls = 0, login = 0, behind = 0] = found.slice(i * 5);
      return { plain, controller, tls, login, behind: relayed ? behind : plain };
    });
    const [first] = all;
    const relay = relayed && first ? await KafkaRelay.open(t, first.plain, first.behind) : undefined;
    const brokers = await Promise.all(
      all.map(async (ports, i): Promise<Broker> => {
        const folder = join(dir, `broker-${i + 1}`);
        await mkdir(folder);
        const file = join(folder, 'server.properties');
        await writeFile(file, propertiesOf(brokerSettings(i + 1, folder, all, certificate)));
        await format(file, secure?.accounts ?? []);
        const command = {
          ...kafkaProgram('kafka.Kafka', [file], BROKER_MIB),
          log: join(folder, 'log'),
          ports: [ports.behind, ports.controller, ...(secure ? [ports.tls, ports.login] : [])],
        };
        const process = await ServerProcess.start(command);
        t.teardown(() => ended(broker.process));
        const broker: Broker = { ports, command, process };
        return broker;
      }),
    );
    const cluster = new KafkaCluster(dir, brokers, relay);
    t.teardown(() => cluster[Symbol.asyncDispose]());
    await cluster.#complete();
    for (const [topic, partitions] of Object.entries(topics)) await cluster.createTopic(topic, partitions);
    return cluster;
  }

  get servers(): readonly Endpoint[] {
    return this.#brokers.map(({ ports }) => ({ host: '127.0.0.1', port: ports.plain }));
  }

  get addresses(): string {
    return this.servers.map(({ host, port }) => `${host}:${port}`).join(',');
  }

  /** Of its brokers. */
  get pids(): readonly number[] {
    return this.#brokers.map(({ process }) => process.pid);
  }

  /** Of a secure cluster: where TLS is spoken, where accounts log in, and who signed the certificate. */
  get secured(): { readonly tls: readonly Endpoint[]; readonly login: readonly Endpoint[]; readonly caFile: string } {
    const at = (port: 'tls' | 'login') => this.#brokers.map(({ ports }) => ({ host: 'localhost', port: ports[port] }));
    return { tls: at('tls'), login: at('login'), caFile: join(this.#dir, 'ca.pem') };
  }

  get relay(): KafkaRelay {
    if (!this.#relay) throw new Error('it was started without a relay');
    return this.#relay;
  }

  /** For what an operator of the cluster would do. */
  admin(): Promise<Admin> {
    this.#admin ??= (async () => {
      const admin = this.#kafka.admin();
      await admin.connect();
      return admin;
    })();
    return this.#admin;
  }

  async createTopic(topic: string, partitions: number, { settings = {}, on }: TopicOptions = {}): Promise<void> {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const placed = on && { replicaAssignment: [{ partition: 0, replicas: [...on] }] };
    const admin = await this.admin();
    await admin.createTopics({
      topics: [{ topic, configEntries, ...(placed ?? { numPartitions: partitions }) }],
      waitForLeaders: false,
    });
    const isKnown = () => admin.fetchTopicMetadata({ topics: [topic] }).then(Boolean, () => false);
    await within(isKnown, `topic ${topic} is not known`);
  }

  /** Killed: what it had not written to its files is lost. Brokers count from 1. */
  async down(broker = 1): Promise<void> {
    await ended(this.#broker(broker).process);
  }

  /** Resolves when all of the cluster is there again. */
  async up(broker = 1): Promise<void> {
    const started = this.#broker(broker);
    started.process = await ServerProcess.start(started.command);
    await this.#complete();
  }

  /** Hangs from now on: connections stay open and nothing is answered. */
  pause(): void {
    for (const { process } of this.#brokers) {
      process.pause();
      // Sent is not stopped: until the kernel has reached all threads, one of them may answer yet.
      const tasks = `/proc/${process.pid}/task`;
      const isStopped = (task: string): boolean => /\) [TZX] /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
      const begun = Date.now();
      while (!readdirSync(tasks).every(isStopped))
        if (Date.now() - begun > STOP_MS) throw new Error(`the cluster does not stop within ${STOP_MS} ms`);
    }
  }

  continue(): void {
    for (const { process } of this.#brokers) process.continue();
  }

  /** The first values of partition 0 as Kafka's own client reads them. */
  async read(topic: string, count: number): Promise<readonly string[]> {
    const which = ['--topic', topic, '--partition', '0', '--offset', 'earliest', '--max-messages', String(count)];
    return this.tool('org.apache.kafka.tools.consumer.ConsoleConsumer', [...which, '--timeout-ms', String(READ_MS)]);
  }

  /** Lines that a command-line tool of Kafka says. */
  async tool(main: string, args: readonly string[]): Promise<readonly string[]> {
    const [server] = this.servers;
    const at = ['--bootstrap-server', `${server?.host}:${server?.port}`];
    const command = kafkaProgram(main, [...at, ...args], TOOL_MIB);
    const { stdout } = await promisify(execFile)(command.program, [...command.args], { maxBuffer: 64 * 1024 * 1024 });
    return stdout.split('\n').slice(0, -1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const admin = this.#admin;
    this.#admin = undefined;
    await admin?.then((open) => open.disconnect()).catch(() => undefined);
    await Promise.all(this.#brokers.map(({ process }) => ended(process)));
  }

  #broker(number: number): Broker {
    const broker = this.#brokers[number - 1];
    if (!broker) throw new Error(`no broker ${number}`);
    return broker;
  }

  /** Resolves when every broker knows all of them, and groups can be coordinated. */
  async #complete(): Promise<void> {
    for (const { ports } of this.#brokers) {
      const kafka = clientOf([`127.0.0.1:${ports.plain}`]);
      await within(() => knows(kafka, this.#brokers.length), 'not all brokers are there');
    }
  }
}

async function within(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
  for (const begun = Date.now(); !(await isSo()); await setTimeout(LOOK_MS))
    if (Date.now() - begun > START_MS) throw new Error(`${otherwise} within ${START_MS} ms`);
}

const clientOf = (brokers: string[]): Kafka => new KafkaClient({ brokers }, silentLogger()).kafka;

async function knows(kafka: Kafka, count: number): Promise<boolean> {
  const admin = kafka.admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    // The first group would wait for its coordinator.
    await admin.describeGroups(['none']);
    return (await admin.describeCluster()).brokers.length === count;
  } catch {
    return false;
  } finally {
    await admin.disconnect();
  }
}

async function format(file: string, accounts: readonly KafkaAccount[]): Promise<void> {
  const scram = accounts.flatMap(({ mechanism, username, password }) => [
    '--add-scram',
    `${mechanism}=[name=${username},password=${password}]`,
  ]);
  const args = ['format', '--cluster-id', CLUSTER_ID, '--config', file, ...scram];
  const command = kafkaProgram('kafka.tools.StorageTool', args, TOOL_MIB);
  await promisify(execFile)(command.program, [...command.args]);
}

/** It keeps nothing that an orderly end would save. */
async function ended(process: ServerProcess): Promise<void> {
  process.signal('SIGKILL');
  await process[Symbol.asyncDispose]();
}
