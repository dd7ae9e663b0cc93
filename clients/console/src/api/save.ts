// Saves a download as a file of the person. Where the browser can write to the chosen file, nothing is held in memory; elsewhere
// it is, up to a bound.

/** What a page may hold at once. */
export const MOST_IN_MEMORY = 500_000_000;

export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}
export class WrongDigest extends Error {
  override readonly name = 'WrongDigest';
}

interface Picker {
  showSaveFilePicker?(options: { readonly suggestedName: string }): Promise<{
    createWritable(): Promise<WritableStream<Uint8Array>>;
  }>;
}

interface Saving {
  readonly name: string;
  readonly size: number;
  /** In hex, if it is known. It is compared where the bytes are held in memory; browsers compute no digests of streams. */
  readonly sha256?: string | undefined;
  readonly open: () => Promise<ReadableStream<Uint8Array>>;
}

/** Call it from a click: the browser asks where to. @returns whether the person went on, and whether the digest was compared */
export async function save({ name, size, sha256, open }: Saving): Promise<'saved' | 'verified' | 'given-up'> {
  const picker = globalThis as Picker;
  if (picker.showSaveFilePicker) {
    const target = await picker.showSaveFilePicker({ suggestedName: name }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return undefined;
      throw error;
    });
    if (!target) return 'given-up';
    await (await open()).pipeTo(await target.createWritable());
    return 'saved';
  }
  if (size > MOST_IN_MEMORY) throw new TooLarge();
  const blob = await new Response((await open()) as ReadableStream<Uint8Array<ArrayBuffer>>).blob();
  const found = sha256 === undefined ? undefined : await hexDigest(blob);
  if (found !== undefined && found !== sha256) throw new WrongDigest();
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return found === undefined ? 'saved' : 'verified';
}

/** Undefined in pages without TLS. */
async function hexDigest(blob: Blob): Promise<string | undefined> {
  if (crypto.subtle === undefined) return undefined;
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await blob.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
