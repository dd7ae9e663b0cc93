// The data files of a small upload, held in memory until the upload is accepted. They are packed before the 202, in the same way as
// the upload lane packs files. So they are not stored, read again, packed and removed by a job, which would be a third of all
// writes to disk when many small datasets are uploaded. Archives, and files that need further checks, are left to the lane
// (actors/lanes/upload-lane.ts).

import { Readable } from 'node:stream';
import { archiveByName, type WrittenArchive } from '../../../engine/archive/archive-entry.ts';
import { zipInMemory } from '../../../engine/archive/zip-writer.ts';
import { digested } from '../../../engine/model/digest.ts';
import { type FileEntry, serialiseManifest } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import type { UploadSource } from '../../../engine/ports/uploads.ts';

/** Which uploads are packed before the 202, and how. */
export interface SmallUploads {
  /** Most bytes of all data files. */
  readonly bytes: number;
  readonly zip: (
    files: readonly HeldFile[],
    signal: AbortSignal,
  ) => Promise<WrittenArchive & { readonly zip: Uint8Array }>;
}

/** Room for the rest of the form. A request that announces more than this and the files is not small. */
const FORM_BYTES = 1024 * 1024;
/** Room for our documents and the archive of such an upload, so that one reservation is enough. */
const OWN_BYTES = 8 * 1024;
/** As the upload lane. */
const LEVEL = 6;

interface HeldFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export const SMALL_UPLOADS: SmallUploads = {
  bytes: 64 * 1024,
  zip: (files, signal) =>
    zipInMemory(
      files.map(({ name, bytes }) => ({ path: name, size: bytes.length, body: bytes })),
      { level: LEVEL },
      signal,
    ),
};

interface Packed {
  /** The manifest and import-ready.zip, in the order in which they are stored. */
  readonly objects: readonly ReturnType<typeof ownDocument>[];
  readonly bytes: number;
  /** With their digests. */
  readonly files: readonly FileEntry[];
  /** Of import-ready.zip. */
  readonly sha256: string;
}

export class SmallFiles {
  readonly #small: SmallUploads | undefined;
  readonly #held: HeldFile[] = [];
  #bytes = 0;
  #isAll = true;

  /**
   * @param small undefined = none is held
   * @param announcedBytes of the whole request
   */
  constructor(small: SmallUploads | undefined, announcedBytes: number | undefined) {
    this.#small = small && (announcedBytes ?? 0) <= small.bytes + FORM_BYTES ? small : undefined;
  }

  /** What to try to reserve first, in this order: with room for our own objects, then without. */
  reservations(announcedBytes: number): readonly number[] {
    return this.#small ? [announcedBytes + OWN_BYTES, announcedBytes] : [announcedBytes];
  }

  /** A data file arrived by another way, so the lane packs all of them. */
  leaveToLane(): void {
    this.#isAll = false;
  }

  /** Holds the file. If there is no room for it, returns its whole content as a stream. */
  async hold(name: string, body: Readable): Promise<Readable | undefined> {
    if (!this.#small) return body;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (this.#bytes + bytes <= this.#small.bytes) continue;
      this.#isAll = false;
      return Readable.from(joined(chunks, body), { objectMode: false });
    }
    this.#bytes += bytes;
    this.#held.push({ name, bytes: Buffer.concat(chunks) });
    return undefined;
  }

  /** Undefined when the lane has to pack the files. */
  async pack(at: DatasetAddress, source: UploadSource, signal: AbortSignal): Promise<Packed | undefined> {
    const [first, ...others] = this.#held;
    if (!this.#small || !first || !this.#isAll || source.kind !== 'files' || source.leftOut !== undefined)
      return undefined;
    if (others.length === 0 && archiveByName(first.name)) return undefined;
    const written = await this.#small.zip(this.#held, signal);
    const { files, zip } = digested(source.files, written);
    const archives = { 'import-ready.zip': zip };
    const manifest = Buffer.from(serialiseManifest({ rawUploads: files, installReady: [], archives }));
    return {
      objects: [
        ownDocument(objectKey(at, 'vdi-manifest.json'), manifest),
        ownDocument(objectKey(at, 'import-ready.zip'), written.zip),
      ],
      bytes: manifest.length + zip.size,
      files,
      sha256: zip.sha256,
    };
  }

  /** Returns the files, and no longer holds them. */
  release(): readonly HeldFile[] {
    return this.#held.splice(0);
  }
}

/** An object of ours that the acceptance records. */
export const ownDocument = (key: string, source: Uint8Array) =>
  ({ key, source, options: { size: source.length, handedOver: true } }) as const;

async function* joined(head: readonly Uint8Array[], rest: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* head;
    yield* rest;
  } finally {
    rest.destroy();
  }
}
