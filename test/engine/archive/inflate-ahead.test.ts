import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { inflatedAhead, type ReadPacked } from '../../../engine/archive/inflate-ahead.ts';
import type { ZipMember } from '../../../engine/archive/zip-directory.ts';

const KIB = 1024;
const MAX_BYTES = 400 * KIB;

t.test('each entry has its own content, though those ahead share memory', async (t) => {
  const file = fc.record({ size: fc.integer({ min: 1, max: 500 * KIB }), random: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 30 }), async (files) => {
      const contents = files.map(({ size, random }, n) => (random ? randomBytes(size) : Buffer.alloc(size, `${n} `)));
      const { members, read } = zipOf(contents);
      let n = 0;
      for await (const { member, inflated } of inflatedAhead(members(), MAX_BYTES, read)) {
        const content = contents[n++] as Buffer;
        const worthIt = content.length >= 32 * KIB && Math.max(content.length, member.compressedSize) <= MAX_BYTES;
        if ((inflated !== undefined) !== worthIt) throw new Error(`${content.length} bytes: ${worthIt}`);
        if (inflated && !(await inflated).equals(content)) throw new Error(`entry ${n} of ${content.length} bytes`);
      }
      if (n !== contents.length) throw new Error(`${n} of ${contents.length} entries`);
    }),
    { numRuns: 30 },
  );
  t.pass();
});

t.test('an entry that is damaged says so when it is read, the others are as they were', async (t) => {
  const contents = Array.from({ length: 20 }, (_, n) => Buffer.alloc(50 * KIB + n, `${n} `));
  const { members, read } = zipOf(contents);
  const damaging: ReadPacked = (member, target) => {
    read(member, target);
    if (member.offset === 7) target.fill(0xff);
    if (member.offset === 8) throw new Error('the disk is gone');
  };
  const told: string[] = [];
  for await (const { member, inflated } of inflatedAhead(members(), MAX_BYTES, damaging))
    told.push(
      await (inflated ?? Promise.reject(new Error('not ahead'))).then(
        (content) => (content.equals(contents[member.offset] as Buffer) ? 'fine' : 'wrong'),
        (error: Error) => error.message,
      ),
    );
  const fine = Array.from({ length: 20 }, () => 'fine');
  t.strictSame(told, [...fine.slice(0, 7), 'invalid block type', 'the disk is gone', ...fine.slice(9)]);
});

t.test('who leaves early leaves nothing running', async (t) => {
  let [begun, ended] = [0, 0];
  const { members, read } = zipOf(Array.from({ length: 20 }, () => randomBytes(100 * KIB)));
  const counting: ReadPacked = (member, target) => {
    begun++;
    read(member, target);
  };
  const all: Promise<unknown>[] = [];
  for await (const { inflated } of inflatedAhead(members(), MAX_BYTES, counting)) {
    all.push((inflated ?? Promise.resolve()).then(() => ended++));
    break;
  }
  await Promise.all(all);
  t.ok(begun > 1 && begun < 20, `${begun} were begun`);
  t.equal(ended, 1);
});

t.test('eight entries are ahead at most, and no more once they have 12 MiB', async (t) => {
  for (const [bytes, most] of [
    [32 * KIB, 8],
    [4096 * KIB, 3],
    [4096 * KIB - 1, 4],
  ] as const) {
    const { members, read } = zipOf(Array.from({ length: 20 }, () => Buffer.alloc(bytes)));
    let [begun, yielded] = [0, 0];
    const ahead: number[] = [];
    const counting: ReadPacked = (member, target) => {
      begun++;
      read(member, target);
    };
    for await (const { inflated } of inflatedAhead(members(), bytes, counting)) {
      ahead.push(begun - yielded++);
      await inflated;
    }
    // At the end fewer are left.
    t.strictSame(
      ahead,
      Array.from({ length: 20 }, (_, n) => Math.min(most, 20 - n)),
      `${bytes} bytes`,
    );
  }
});

/** Its members, the offset of each being its number. */
function zipOf(contents: readonly Buffer[]): { members: () => AsyncGenerator<ZipMember>; read: ReadPacked } {
  const packed = contents.map((content) => deflateRawSync(content));
  return {
    async *members() {
      for (const [offset, content] of contents.entries()) {
        const compressedSize = (packed[offset] as Buffer).length;
        yield { path: `${offset}`, size: content.length, compressedSize, crc: 0, deflated: true, offset };
      }
    },
    read: ({ offset }, target) => void packed[offset]?.copy(target),
  };
}
