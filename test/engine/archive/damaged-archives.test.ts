// Damage anywhere in an archive.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import type { ArchiveSource } from '../../../engine/archive/archive-entry.ts';
import { readTarGz } from '../../../engine/archive/tar-reader.ts';
import { writeTarGz } from '../../../engine/archive/tar-writer.ts';
import { readZip } from '../../../engine/archive/zip-reader.ts';
import { writeZip } from '../../../engine/archive/zip-writer.ts';
import { Failure } from '../../../engine/runtime/failure.ts';

const signal = new AbortController().signal;

/** Of small ones, and of some that come in several chunks. */
const contents = fc.array(
  fc.oneof(fc.stringMatching(/^[a-z]{0,100}$/), fc.integer({ min: 40_000, max: 90_000 }).map(lettersOf)),
  { minLength: 1, maxLength: 6 },
);

t.test('an archive with a byte changed, or cut off, is refused or gives what was packed', async (t) => {
  const dir = t.testdir();
  const outcomes = { refused: 0, read: 0 };
  await fc.assert(
    fc.asyncProperty(
      contents,
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      async (contents, at, flip, cut) => {
        for (const [name, write, read] of [
          ['a.zip', writeZip, readZip],
          ['a.tgz', writeTarGz, readTarGz],
        ] as const) {
          const archive = join(dir, name);
          await write(archive, contents.map(source), { level: 6 }, signal);
          const bytes = await readFile(archive);
          const place = at % bytes.length;
          bytes[place] = (bytes[place] as number) ^ flip;
          await writeFile(archive, cut ? bytes.subarray(0, place) : bytes);
          const found = await readBy(read, archive).catch((error: unknown) => error);
          if (found instanceof Failure) {
            t.equal(found.kind, 'rejected', found.message);
            outcomes.refused++;
          } else {
            // A name may be another one now, or be dropped for it.
            t.ok(Array.isArray(found) && found.every((content) => contents.includes(content)), `${name} ${place}`);
            outcomes.read++;
          }
        }
      },
    ),
    { numRuns: 40 },
  );
  t.ok(outcomes.refused > 40, JSON.stringify(outcomes));
});

async function readBy(read: typeof readZip | typeof readTarGz, archive: string): Promise<readonly string[]> {
  const limits = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 1000 };
  const found: string[] = [];
  for await (const { body } of read(archive, { limits }, signal)) {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    found.push(Buffer.concat(chunks).toString('latin1'));
  }
  return found;
}

const source = (text: string, n: number): ArchiveSource => {
  const body = Buffer.from(text, 'latin1');
  return { path: `folder/${n}`, size: body.length, body };
};

function lettersOf(size: number): string {
  return Array.from({ length: size }, (_, n) => String.fromCharCode(97 + ((n * n) % 23))).join('');
}
