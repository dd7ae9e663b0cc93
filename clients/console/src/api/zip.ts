// Reads single files of an archive of a dataset by ranges, so that the archive is never held as a whole.

/** Bytes of the archive from `first` to `last`, both included. */
export type ReadRange = (first: number, last: number) => Promise<ReadableStream<Uint8Array>>;

export interface ZipEntry {
  readonly name: string;
  readonly packedSize: number;
  readonly size: number;
  readonly method: number;
  /** Of its local header. */
  readonly at: number;
}

/** The comment of an archive is at most 64 KiB; with the end records this is enough to find its directory. */
const TAIL = 66_000;
/** Of about 100,000 files. */
const LARGEST_DIRECTORY = 16_000_000;
const LOCAL_HEADER = 30;
/** A name and the extra fields of a local header. */
const LONGEST_HEADER = LOCAL_HEADER + 2 * 65_535;
const MARKER_32 = 0xffff_ffff;

export class UnreadableZip extends Error {
  override readonly name = 'UnreadableZip';
}

export async function zipEntries(read: ReadRange, zipSize: number): Promise<readonly ZipEntry[]> {
  const tailAt = Math.max(0, zipSize - TAIL);
  const tail = viewOf(await bytesOf(await read(tailAt, zipSize - 1)));
  const { at, size } = directoryOf(tail, tailAt);
  if (size > LARGEST_DIRECTORY) throw new UnreadableZip();
  if (size === 0) return [];
  return entriesOf(viewOf(await bytesOf(await read(at, at + size - 1))));
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const number64 = (view: DataView, at: number): number => Number(view.getBigUint64(at, true));

function directoryOf(tail: DataView, tailAt: number): { readonly at: number; readonly size: number } {
  for (let end = tail.byteLength - 22; end >= 0; end -= 1) {
    if (tail.getUint32(end, true) !== 0x06054b50) continue;
    const size = tail.getUint32(end + 12, true);
    const at = tail.getUint32(end + 16, true);
    if (at !== MARKER_32 && size !== MARKER_32) return { at, size };
    const large = end >= 20 ? number64(tail, end - 20 + 8) - tailAt : -1;
    if (large < 0 || tail.getUint32(large, true) !== 0x06064b50) break;
    return { size: number64(tail, large + 40), at: number64(tail, large + 48) };
  }
  throw new UnreadableZip();
}

function entriesOf(view: DataView): readonly ZipEntry[] {
  const entries: ZipEntry[] = [];
  const decoder = new TextDecoder();
  for (let at = 0; at + 46 <= view.byteLength && view.getUint32(at, true) === 0x02014b50; ) {
    const nameLength = view.getUint16(at + 28, true);
    const extraLength = view.getUint16(at + 30, true);
    const name = decoder.decode(new Uint8Array(view.buffer, view.byteOffset + at + 46, nameLength));
    const large = largeFields(view, at + 46 + nameLength, extraLength);
    const given = (field: number): number => {
      const value = view.getUint32(at + field, true);
      return value === MARKER_32 ? large() : value;
    };
    // In this order in the extra field: size, packed size, position.
    const size = given(24);
    const packedSize = given(20);
    entries.push({ name, size, packedSize, at: given(42), method: view.getUint16(at + 10, true) });
    at += 46 + nameLength + extraLength + view.getUint16(at + 32, true);
  }
  return entries;
}

/** The numbers of the zip64 extra field, one after the other. */
function largeFields(view: DataView, start: number, length: number): () => number {
  for (let at = start; at + 4 <= start + length; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== 1) continue;
    let next = at + 4;
    return () => {
      next += 8;
      return number64(view, next - 8);
    };
  }
  return () => {
    throw new UnreadableZip();
  };
}

/** The contents of a file. @param most reads no more than about so many packed bytes; the stream then ends early */
export async function contentsOf(
  read: ReadRange,
  entry: ZipEntry,
  zipSize: number,
  most = Number.POSITIVE_INFINITY,
): Promise<ReadableStream<Uint8Array>> {
  if (entry.method !== 0 && entry.method !== 8) throw new UnreadableZip();
  const wanted = Math.min(entry.packedSize, most);
  const packed = (await read(entry.at, Math.min(entry.at + LONGEST_HEADER + wanted, zipSize) - 1)).pipeThrough(
    withoutHeader(wanted),
  );
  return entry.method === 0 ? packed : packed.pipeThrough(new DecompressionStream('deflate-raw') as never);
}

const SLICE_BYTES = 16_384;

/** Drops the local header, and ends after so many bytes. */
function withoutHeader(length: number): TransformStream<Uint8Array, Uint8Array> {
  let header = new Uint8Array();
  let toSkip = -1;
  let left = length;
  return new TransformStream({
    transform(chunk, controller) {
      let bytes = chunk;
      if (toSkip < 0) {
        header = joined([header, chunk]);
        if (header.length < LOCAL_HEADER) return;
        const view = viewOf(header);
        toSkip = LOCAL_HEADER + view.getUint16(26, true) + view.getUint16(28, true);
        bytes = header;
      }
      const skipped = Math.min(toSkip, bytes.length);
      toSkip -= skipped;
      const rest = bytes.subarray(skipped, skipped + left);
      left -= rest.length;
      // In slices: where the packed bytes end early, what was unpacked and not yet read is lost.
      for (let at = 0; at < rest.length; at += SLICE_BYTES) controller.enqueue(rest.subarray(at, at + SLICE_BYTES));
      if (left === 0 && toSkip === 0) controller.terminate();
    },
  });
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

/** The text at the beginning of a stream, as far as it can be unpacked. */
export async function textOf(stream: ReadableStream<Uint8Array>, most: number): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    while (text.length < most) {
      const { value, done } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    // The packed bytes end in the middle when only the beginning was asked for.
    if (text === '') throw error;
  }
  await reader.cancel().catch(() => undefined);
  return text;
}
