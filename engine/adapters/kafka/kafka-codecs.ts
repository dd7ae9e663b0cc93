// Compression of record batches beyond gzip, which the Kafka client has itself, in the framings that brokers and other
// clients read: snappy in xerial's blocks, LZ4 in frames of independent blocks, zstd by the runtime.

import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { type CompressionTypes as CompressionType } from 'kafkajs';
import snappy from 'kafkajs-snappy';
import lz4 from 'lz4js';
import type { KafkaProducerSettings } from './kafka-options.ts';

// A name of CommonJS that the runtime does not see.
const { CompressionCodecs, CompressionTypes } = kafkajs;

/** As the client calls it: what is to be compressed comes in an encoder, compressed bytes as they are. */
interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

/** Magic, version 1, readable since version 1. */
const XERIAL_HEADER = Buffer.from('82534e4150505900' + '00000001' + '00000001', 'hex');
const XERIAL_BLOCK = 32_768;
const KiB = 1024;
/**
 * What a frame says of its blocks: flags `version 1, independent blocks`, their largest size, and the checksum of these two
 * bytes. Readers set aside that size for each frame, so the smallest that holds the batch is said.
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
    // The library lets a block refer to the one before, which Kafka does not allow; one block refers to none.
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

/** The client keeps its codecs for the whole process; doing this twice changes nothing. */
export function installCodecs(): void {
  Object.assign(CompressionCodecs, {
    [CompressionTypes.Snappy]: () => snappyCodec,
    [CompressionTypes.LZ4]: () => lz4Codec,
    [CompressionTypes.ZSTD]: () => zstdCodec,
  });
}
