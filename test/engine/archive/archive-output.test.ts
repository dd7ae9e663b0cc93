import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { OUTPUT_BYTES, writeArchive } from '../../../engine/archive/archive-output.ts';

t.test('the file has what was appended and patched, wherever a patch falls', async (t) => {
  const file = join(t.testdir(), 'archive');
  const step = fc.record({
    append: fc.integer({ min: 0, max: OUTPUT_BYTES }),
    /** Back from where the output is. */
    patch: fc.option(fc.tuple(fc.integer({ min: 1, max: 2 * OUTPUT_BYTES }), fc.integer({ min: 1, max: 100 }))),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const twin = Buffer.alloc(steps.reduce((sum, { append }) => sum + append, 0));
      let length = 0;
      await writeArchive(file, async (output) => {
        for (const [n, { append, patch }] of steps.entries()) {
          twin.fill(n + 1, length, length + append);
          await output.append(twin.subarray(length, length + append));
          length += append;
          const position = length - (patch?.[0] ?? 0);
          if (!patch || position < 0) continue;
          const bytes = Buffer.alloc(Math.min(patch[1], length - position), 100 + n);
          twin.set(bytes, position);
          await output.patch(position, bytes);
        }
        t.equal(output.position, length);
      });
      t.ok(twin.equals(await readFile(file)));
    }),
    { numRuns: 40 },
  );
});

t.test('leaves no file behind when writing fails', async (t) => {
  const file = join(t.testdir(), 'archive');
  const failed = writeArchive(file, async (output) => {
    await output.append(Buffer.alloc(3 * OUTPUT_BYTES));
    await output.patch(0, Buffer.from('a'));
    throw new Error('source broke');
  });
  await t.rejects(failed, new Error('source broke'));
  t.strictSame(await readdir(dirname(file)), []);
});
