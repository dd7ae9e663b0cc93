// The rules for names inside archives, in one place (docs/design/decisions.md#archive-module). A path that passes is relative,
// uses `/`, is NFC, and can be joined to a directory without leaving it, on case-insensitive file systems, too.

import { hiddenCharacter, isDesktopJunk, visible } from '../model/file-name.ts';
import { rejected } from '../runtime/failure.ts';

const MAX_PATH_BYTES = 1024;
const MAX_SEGMENT_BYTES = 255;
/** No real data is nested deeper; the bound limits the work per name. */
const MAX_DEPTH = 64;

type PathCheck =
  | { readonly path: string }
  /** Files that desktops add (engine/model/file-name.ts), and the root itself (`./`). */
  | { readonly dropped: 'junk' | 'root' }
  | { readonly fault: string };

/**
 * The path as we store it, or what is wrong with it. `.` and empty segments are removed (`./a//b` is `a/b`), because common
 * tools write them; the caller interprets a trailing slash.
 */
export function checkEntryPath(raw: string): PathCheck {
  if (raw === '') return { fault: 'has an empty name' };
  if (Buffer.byteLength(raw) > MAX_PATH_BYTES) return { fault: `has a name longer than ${MAX_PATH_BYTES} bytes` };
  if (raw.includes('\0')) return { fault: 'has a NUL character in its name' };
  if (!raw.isWellFormed()) return { fault: 'has half of a surrogate pair in its name' };
  // Checked before the rules, because the name of a macOS folder icon has a control character.
  const isJunk = isDesktopJunk(raw);
  const hidden = isJunk ? undefined : hiddenCharacter(raw);
  if (hidden) return { fault: `has ${hidden.kind} in its name: ${hidden.code} at position ${hidden.position}` };
  if (raw.includes('\\')) return { fault: 'has a backslash in its name' };
  if (raw.startsWith('/')) return { fault: 'has an absolute path' };
  if (/^[A-Za-z]:/.test(raw)) return { fault: 'has a drive letter in its path' };
  const segments = raw
    .normalize('NFC')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) return { fault: "has '..' in its path" };
  if (segments.length > MAX_DEPTH) return { fault: `lies more than ${MAX_DEPTH} folders deep` };
  if (segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES))
    return { fault: `has a file or folder name longer than ${MAX_SEGMENT_BYTES} bytes` };
  if (segments.length === 0) return { dropped: 'root' };
  if (isJunk) return { dropped: 'junk' };
  return { path: segments.join('/') };
}

/**
 * The archive's name in the form that {@link checkEntryPath} accepts. Windows programs write `\\` between folders, and common
 * unpackers read that as `/`.
 */
export const withSlashes = (raw: string): string => raw.replaceAll('\\', '/');

/** An entry's name for a message: control characters made visible, cut when long. */
export function quoteEntry(raw: string): string {
  const shown = JSON.stringify(raw.length > 200 ? `${raw.slice(0, 200)}…` : raw).slice(1, -1);
  return `'${visible(shown.replaceAll('\\"', '"'))}'`;
}

/**
 * The file names of one archive. Refuses a name that occurs twice and names that differ by case only: on a case-insensitive
 * file system one would silently replace the other. Refuses a file that is also a folder.
 */
export class EntryNames {
  readonly #files = new Set<string>();

  get count(): number {
    return this.#files.size;
  }

  add(path: string): void {
    const key = path.toLowerCase();
    if (this.#files.has(key))
      throw rejected(`entry ${quoteEntry(path)} comes twice in the archive (names are compared without case)`);
    this.#refuseFolderThatIsFile(key);
    this.#files.add(key);
  }

  /** Call when all names are known. Finds files that came after an entry inside a folder of the same name. */
  finish(): void {
    for (const key of this.#files) this.#refuseFolderThatIsFile(key);
  }

  #refuseFolderThatIsFile(key: string): void {
    for (let slash = key.indexOf('/'); slash !== -1; slash = key.indexOf('/', slash + 1)) {
      const folder = key.slice(0, slash);
      if (this.#files.has(folder)) throw rejected(`entry ${quoteEntry(folder)} is both a file and a folder`);
    }
  }
}
