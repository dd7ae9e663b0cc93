// A kafkajs client as the adapters use it. It writes to our log, and its sockets can be closed at once. Warnings of Node.js and
// the library do not reach the terminal.
//   open   connects on demand
//   cut    every socket is closed, pending requests fail, new connections fail at once: for a shutdown that must not wait

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, {
  type CompressionTypes as CompressionType,
  type ISocketFactoryArgs,
  Kafka,
  type KafkaConfig,
  type LogEntry,
  logLevel,
} from 'kafkajs';
import snappy from 'kafkajs-snappy';
import lz4 from 'lz4js';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { systemClock } from '../../runtime/time.ts';
import type { KafkaProducerSettings } from './kafka-options.ts';

const KEEP_ALIVE_MS = 15_000;

export class KafkaClient {
  readonly kafka: Kafka;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  constructor(config: KafkaConfig, log: Logger) {
    installCodecs();
    spendNegativeTimerWarning();
    this.kafka = new Kafka({
      ...config,
      socketFactory: (args) => this.#connect(args),
      logLevel: logLevel.DEBUG,
      logCreator: () => (entry) => writeTo(log, entry),
    });
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy(new Error('the connection is no longer wanted'));
  }

  #connect({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    const name = isIP(host) ? {} : { servername: host };
    // Set only if TLS is enabled.
    const socket = (ssl as ISocketFactoryArgs['ssl'] | undefined)
      ? connectTls({ host, port, ...name, ...ssl }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isCut) socket.destroy(new Error('the connection is no longer wanted'));
    return socket;
  }
}

/**
 * The client logs every rebalance and lost connection as an error. The adapters handle these, and readers and publishers log
 * the result, so here they are debug messages. Fields are selected, because the client's entries may contain anything.
 */
function writeTo(log: Logger, { namespace, level, log: entry }: LogEntry): void {
  const { message, broker, topic, partition, groupId, error, retryCount } = entry;
  const fields = { client: namespace, broker, topic, partition, groupId, retryCount, said: message, reason: error };
  if (level === logLevel.DEBUG) log.trace(fields, 'Kafka client');
  else log.debug(fields, 'Kafka client');
}

/**
 * The client sets timers in the past, which is harmless, but Node.js prints a warning for the first one in a process. We
 * trigger that warning here and suppress it.
 */
function spendNegativeTimerWarning(): void {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    systemClock.after(-1, () => undefined)();
  } finally {
    process.emitWarning = emitWarning;
  }
}

// Maps errors of the Kafka client to failures, by their class and the broker's error code. Errors that a retry may fix are
// transient; if no broker was reached, they are also unreachable. All others (no permission, an impossible topic) are defects.

const UNREACHABLE = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSBrokerNotFound',
  'KafkaJSLockTimeout',
]);

/** @param what was attempted, including the topics */
export function kafkaFailure(what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const cause = rootOf(error);
  const { name, type, retriable } = cause as { name?: string; type?: string; retriable?: boolean };
  const message = `${what}: ${type ?? messageOf(cause)}`;
  if (name !== undefined && UNREACHABLE.has(name))
    return new Failure('transient', message, { cause, unreachable: true });
  return new Failure(retriable === false || !isOfClient(name) ? 'defect' : 'transient', message, { cause });
}

/** The account is unknown or its password wrong, or the listener knows no such mechanism. */
export function isLoginRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { name, type } = error as { name: string; type?: string };
  return (
    name === 'KafkaJSSASLAuthenticationError' || type === 'UNSUPPORTED_SASL_MECHANISM' || isLoginRefused(error.cause)
  );
}

/** The client wraps the error on which it gave up. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && isOfClient(error.name) && error.cause instanceof Error ? rootOf(error.cause) : error;
}

const isOfClient = (name: string | undefined): boolean => name?.startsWith('KafkaJS') ?? false;

// Compression of record batches besides gzip, which the Kafka client supports itself. The framings are those of brokers and
// other clients: snappy in xerial's blocks, LZ4 in frames of independent blocks. zstd is provided by the runtime.

// A named export of a CommonJS module that the runtime does not detect.
const { CompressionCodecs, CompressionTypes } = kafkajs;

/** The client's interface: input to compress is in an encoder, compressed bytes are a plain buffer. */
interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

/** Magic, version 1, compatible with version 1. */
const XERIAL_HEADER = Buffer.from('82534e4150505900' + '00000001' + '00000001', 'hex');
const XERIAL_BLOCK = 32_768;
const KiB = 1024;
/**
 * A frame's descriptor of its blocks: flags `version 1, independent blocks`, the maximum block size, and the checksum of these
 * two bytes. Readers allocate the block size for each frame, so we use the smallest that fits the batch.
 */
const LZ4_BLOCKS = [
  { size: 64 * KiB, descriptor: Buffer.from('604082', 'hex') },
  { size: 256 * KiB, descriptor: Buffer.from('6050fb', 'hex') },
  { size: 1024 * KiB, descriptor: Buffer.from('606051', 'hex') },
  { size: 4096 * KiB, descriptor: Buffer.from('607073', 'hex') },
] as const;
const LZ4_DESCRIPTOR_AT = 4;

export const COMPRESSION: Readonly<Record<KafkaProducerSettings['compressionType'], CompressionType>> = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};

const snappyCodec: Codec = {
  async compress({ buffer }) {
    const raw = snappy();
    const parts: Buffer[] = [XERIAL_HEADER];
    for (let from = 0; from < buffer.length; from += XERIAL_BLOCK) {
      const block = await raw.compress({ buffer: buffer.subarray(from, from + XERIAL_BLOCK) });
      const size = Buffer.alloc(4);
      size.writeUInt32BE(block.length);
      parts.push(size, block);
    }
    return Buffer.concat(parts);
  },
  decompress: (buffer) => snappy().decompress(buffer),
};

const lz4Codec: Codec = {
  async compress({ buffer }) {
    // The library links each block to the one before, which Kafka does not allow. With a single block there is no link.
    const block = LZ4_BLOCKS.find(({ size }) => buffer.length <= size);
    if (!block) throw new RangeError(`a batch of ${buffer.length} bytes is too large for LZ4`);
    const frame = Buffer.from(lz4.compress(buffer));
    block.descriptor.copy(frame, LZ4_DESCRIPTOR_AT);
    return frame;
  },
  decompress: async (buffer) => Buffer.from(lz4.decompress(buffer)),
};

const zstdCodec: Codec = {
  compress: ({ buffer }) => promisify(zstdCompress)(buffer),
  decompress: (buffer) => promisify(zstdDecompress)(buffer),
};

/** The client's codecs are global to the process. Idempotent. */
export function installCodecs(): void {
  Object.assign(CompressionCodecs, {
    [CompressionTypes.Snappy]: () => snappyCodec,
    [CompressionTypes.LZ4]: () => lz4Codec,
    [CompressionTypes.ZSTD]: () => zstdCodec,
  });
}
