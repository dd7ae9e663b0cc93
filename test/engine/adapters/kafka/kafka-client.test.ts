import { randomBytes } from 'node:crypto';
import kafkajs from 'kafkajs';
import t from 'tap';
import { COMPRESSION, installCodecs } from '../../../../engine/adapters/kafka/kafka-client.ts';

interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

installCodecs();
const codec = (name: keyof typeof COMPRESSION): Codec =>
  (kafkajs.CompressionCodecs as unknown as Record<number, () => Codec>)[COMPRESSION[name]]?.() as Codec;

/** Text that compresses, and noise that does not; larger than a block of any framing but LZ4's. */
const CONTENTS = {
  empty: Buffer.alloc(0),
  short: Buffer.from('one'),
  text: Buffer.from('{"eventID":1,"userID":42}'.repeat(8_000)),
  noise: randomBytes(200_000),
};

t.test('what was compressed is what comes out', async (t) => {
  for (const name of ['gzip', 'snappy', 'lz4', 'zstd'] as const)
    for (const [kind, buffer] of Object.entries(CONTENTS)) {
      if (buffer.length === 0 && name !== 'gzip' && name !== 'zstd') continue; // no batch is empty
      const packed = await codec(name).compress({ buffer });
      t.ok((await codec(name).decompress(packed)).equals(buffer), `${name} ${kind}`);
    }
});

t.test('snappy comes in the blocks of xerial', async (t) => {
  const packed = await codec('snappy').compress({ buffer: CONTENTS.noise });
  t.equal(packed.subarray(0, 16).toString('hex'), '82534e4150505900' + '00000001' + '00000001');
  let blocks = 0;
  let at = 16;
  for (; at < packed.length; blocks++) at += 4 + packed.readUInt32BE(at);
  t.same([at, blocks], [packed.length, Math.ceil(200_000 / 32_768)]);
});

t.test('raw snappy, as some clients write it, is read', async (t) => {
  // A literal of 3 bytes.
  t.equal((await codec('snappy').decompress(Buffer.from('0308616263', 'hex'))).toString(), 'abc');
});

t.test('LZ4 comes as a frame of one block that refers to no other', async (t) => {
  const packed = await codec('lz4').compress({ buffer: CONTENTS.text });
  t.equal(packed.subarray(0, 7).toString('hex'), '04224d18' + '6050fb', 'magic, flags, block size, their checksum');
  t.equal(packed.length, 7 + 4 + packed.readUInt32LE(7) + 4, 'one block and the end mark');
  await t.rejects(codec('lz4').compress({ buffer: Buffer.alloc(4 * 1024 * 1024 + 1) }), { name: 'RangeError' });
});

t.test('LZ4 asks its reader for no more memory than the batch needs', async (t) => {
  const KiB = 1024;
  const descriptors: string[] = [];
  for (const size of [1, 64 * KiB, 64 * KiB + 1, 256 * KiB, 256 * KiB + 1, 1024 * KiB, 1024 * KiB + 1, 4096 * KiB]) {
    const buffer = Buffer.alloc(size, 'content');
    const packed = await codec('lz4').compress({ buffer });
    descriptors.push(packed.subarray(5, 7).toString('hex'));
    t.ok((await codec('lz4').decompress(packed)).equals(buffer), `${size} bytes`);
  }
  t.same(descriptors, ['4082', '4082', '50fb', '50fb', '6051', '6051', '7073', '7073']);
});

t.test('a frame of the reference program is read', async (t) => {
  // lz4 -B7 -BI --no-frame-crc of 'hello hello hello hello'.
  const frame = Buffer.from('04224d1860408' + '20f0000006868656c6c6f2006005068656c6c6f00000000', 'hex');
  t.equal((await codec('lz4').decompress(frame)).toString(), 'hello hello hello hello');
});
