// The files of a dataset, read as the person who is signed in: single ones out of an archive, and whole.

import { installer } from '../../api/session.ts';
import { contentsOf, type ReadRange, textOf, UnreadableZip, type ZipEntry, zipEntries } from '../../api/zip.ts';

export type Archive = 'upload' | 'install';
type Bytes = ReadableStream<Uint8Array>;

const PATHS = { upload: '/datasets/{id}/files/upload', install: '/datasets/{id}/files/install' } as const;

/** Of a preview, packed and unpacked. */
const MOST_PACKED = 256_000;
const MOST_TEXT = 1_000_000;

export async function wholeArchive(id: string, archive: Archive, range?: string): Promise<Bytes> {
  const { data } = await installer.GET(PATHS[archive], {
    params: { path: { id } },
    ...(range === undefined ? {} : { headers: { range } }),
    parseAs: 'stream',
  });
  return data as unknown as Bytes;
}

const reading =
  (id: string, archive: Archive): ReadRange =>
  (first, last) =>
    wholeArchive(id, archive, `bytes=${first}-${last}`);

async function entryOf(read: ReadRange, zipSize: number, name: string): Promise<ZipEntry> {
  const found = (await zipEntries(read, zipSize)).find((entry) => entry.name === name);
  if (!found) throw new UnreadableZip();
  return found;
}

export async function archivedFile(id: string, archive: Archive, zipSize: number, name: string): Promise<Bytes> {
  const read = reading(id, archive);
  return contentsOf(read, await entryOf(read, zipSize, name), zipSize);
}

/** The beginning of a text file. @returns also whether there is more */
export async function beginningOf(
  id: string,
  archive: Archive,
  zipSize: number,
  name: string,
): Promise<{ readonly text: string; readonly isPart: boolean }> {
  const read = reading(id, archive);
  const entry = await entryOf(read, zipSize, name);
  const text = await textOf(await contentsOf(read, entry, zipSize, MOST_PACKED), MOST_TEXT);
  return { text, isPart: entry.packedSize > MOST_PACKED || entry.size > MOST_TEXT };
}

/** A document, or a file of properties. */
export async function looseFile(id: string, kind: 'documents' | 'properties', fileName: string): Promise<Bytes> {
  const options = { params: { path: { id, fileName } }, parseAs: 'stream' } as const;
  const { data } =
    kind === 'documents'
      ? await installer.GET('/datasets/{id}/files/documents/{fileName}', options)
      : await installer.GET('/datasets/{id}/files/dataset-properties/{fileName}', options);
  return data as unknown as Bytes;
}
