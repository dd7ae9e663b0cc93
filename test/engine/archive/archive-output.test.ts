import { open, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { type ArchiveOutput, OUTPUT_BYTES, writeArchive } from '../../../engine/archive/archive-output.ts';
import { EARLY_SYNC_BYTES } from '../../../engine/runtime/early-sync.ts';

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

t.test('a large archive that will be synced is synced while it grows; if that fails, it fails', async (t) => {
  const dir = t.testdir();
  const file = join(dir, 'archive');
  const handle = await open(file, 'w');
  const handles = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const { datasync } = handles;
  t.teardown(() => {
    handles.datasync = datasync;
  });
  let syncs = 0;
  handles.datasync = async () => {
    syncs++;
    throw Object.assign(new Error('EIO'), { syscall: 'fdatasync' });
  };
  const piece = Buffer.alloc(OUTPUT_BYTES);
  const large = async (output: ArchiveOutput): Promise<void> => {
    for (let bytes = 0; bytes < EARLY_SYNC_BYTES; bytes += piece.length) await output.append(piece);
  };
  await writeArchive(file, large);
  t.equal(syncs, 0);
  await t.rejects(writeArchive(file, large, { syncEarly: true }), { kind: 'transient', message: /EIO/ });
  t.equal(syncs, 1);
  t.same(await readdir(dir), []);
});

t.test('leaves no file behind when writing fails', async (t) => {
  const file = join(t.testdir(), 'archive');
  const failed = writeArchive(file, async (output) => {
    await output.append(Buffer.alloc(3 * OUTPUT_BYTES));
    await output.patch(0, Buffer.from('a'));
    throw new Error('source broke');
  });
  await t.rejects(failed, { message: /^source broke$/ });
  t.strictSame(await readdir(dirname(file)), []);
});
