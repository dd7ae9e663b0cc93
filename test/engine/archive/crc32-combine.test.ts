import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { crc32Combine } from '../../../engine/archive/crc32-combine.ts';

t.test('the checksum made of those of two parts is that of the whole', async () => {
  const part = fc.oneof(fc.uint8Array({ maxLength: 5_000 }), fc.nat(100_000).map(zeros));
  fc.assert(
    fc.property(part, part, (first, second) => {
      const whole = crc32(Buffer.concat([first, second]));
      return crc32Combine(crc32(first), crc32(second), second.length) === whole;
    }),
  );
});

t.test('a part of many megabytes, whose length has many bits, is no other', async (t) => {
  const first = Buffer.from('what comes before');
  const second = Buffer.alloc(2 ** 24 - 1, 'x');
  t.equal(crc32Combine(crc32(first), crc32(second), second.length), crc32(second, crc32(first)));
});

function zeros(length: number): Uint8Array {
  return new Uint8Array(length);
}
