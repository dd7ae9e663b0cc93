// What a reader did with an archive that its owner should know although nothing is wrong. Bounded, whatever the number of
// entries.

import { leftOutNote } from '../model/file-name.ts';

const MOST_KEPT = 6;

export class ArchiveNotes {
  readonly #leftOut = new Named();
  readonly #converted = new Named();
  readonly #folders = new Named();

  /** A desktop's own file. */
  leftOut(path: string): void {
    this.#leftOut.add(path);
  }

  /** A name that was read as code page 437. */
  converted(path: string): void {
    this.#converted.add(path);
  }

  /** A name with backslashes, as it was written. */
  backslashes(raw: string): void {
    this.#folders.add(raw);
  }

  /** One sentence each, for the owner. */
  lines(): readonly string[] {
    const { names, more } = this.#converted;
    return [
      leftOutNote(this.#leftOut.names, this.#leftOut.more),
      names.length === 0
        ? undefined
        : `names that are not UTF-8 were read in code page 437: ${listed(names, more)}; if they look wrong, pack anew with names in UTF-8`,
      this.#folders.names.length === 0
        ? undefined
        : `backslashes in names were read as folders: ${listed(this.#folders.names, this.#folders.more)}`,
    ].filter((line) => line !== undefined);
  }
}

/** The first few names, and how many more there were. */
class Named {
  readonly #kept = new Set<string>();
  more = 0;

  get names(): readonly string[] {
    return [...this.#kept];
  }

  add(name: string): void {
    if (this.#kept.size < MOST_KEPT) this.#kept.add(name);
    else if (!this.#kept.has(name)) this.more++;
  }
}

const listed = (names: readonly string[], more: number): string =>
  names.map((name) => `'${name}'`).join(', ') + (more > 0 ? ` and ${more} more` : '');
