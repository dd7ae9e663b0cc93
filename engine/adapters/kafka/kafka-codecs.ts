// Compression of record batches besides gzip, which the Kafka client supports itself. The framings are those of brokers and
// other clients: snappy in xerial's blocks, LZ4 in frames of independent blocks. zstd is provided by the runtime.

import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { type CompressionTypes as CompressionType } from 'kafkajs';
import snappy from 'kafkajs-snappy';
import lz4 from 'lz4js';
import type { KafkaProducerSettings } from './kafka-options.ts';

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
