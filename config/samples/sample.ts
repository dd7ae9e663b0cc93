// A sample plugin is the five scripts of one dataset type, as functions. A script succeeds, refuses the data with messages for
// their owner (exit 99), or fails (any other code). Also what all samples share: faults, limits, positions in a text.

import { Failure } from '../../engine/runtime/failure.ts';
import type { SampleDatabase } from './row-statements.ts';

/** What a script is given. */
export interface SampleIo {
  /** The folder of the dataset's files (`DATA_FILES`). The script creates it. */
  readonly dataFiles: string;
  /** Writes one message for the owner. The prefix `basic:` is the default list, `community:` the other. */
  readonly say: (line: string) => void;
  /** Writes one line for the operator. */
  readonly log: (line: string) => void;
  /** The data DB of the install target. Is opened at the first call; the caller of the script closes it. */
  readonly database: () => Promise<SampleDatabase>;
  readonly signal: AbortSignal;
}

export interface SampleDependency {
  readonly identifier: string;
  readonly version: string;
}

export interface SamplePlugin {
  /** Checks the files of `inputDir` and writes the files to install to `outputDir`. */
  import(inputDir: string, outputDir: string, io: SampleIo): Promise<void>;
  checkCompatibility(dependencies: readonly SampleDependency[], io: SampleIo): Promise<void>;
  /** Idempotent: may be called again for the same dataset. */
  installData(dataset: string, dataDir: string, io: SampleIo): Promise<void>;
  installMeta(dataset: string, metaFile: string, propertiesDir: string, io: SampleIo): Promise<void>;
  uninstall(dataset: string, io: SampleIo): Promise<void>;
}

const SHOWN_FAULTS = 20;

/** The data do not fit the type. Every message is shown to their owner. */
export class Refusal extends Failure {
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super('rejected', messages.join('\n'));
    this.name = 'Refusal';
    this.messages = messages;
  }
}

/** Collects faults, so that the owner sees many at once, up to a bound. */
export class Faults {
  readonly #shown: string[] = [];
  #more = 0;

  add(message: string): void {
    if (this.#shown.length < SHOWN_FAULTS) this.#shown.push(message);
    else this.#more++;
  }

  get any(): boolean {
    return this.#shown.length > 0;
  }

  /** Throws a {@link Refusal} when there is any fault. */
  check(): void {
    if (!this.any) return;
    throw new Refusal(this.#more === 0 ? this.#shown : [...this.#shown, `and ${this.#more} more faults of this kind`]);
  }
}

/** A user's value for a message: in quotes, shortened, with invisible characters escaped. */
export const shown = (text: string): string => `'${excerpt(text)}'`;

/** As {@link shown}, with at most the given number of characters. */
export const shownShort = (text: string, most: number): string => `'${excerpt(text, most)}'`;

/** As {@link shown}, without quotes. */
export function excerpt(text: string, most = 60): string {
  const characters = Array.from(text.slice(0, 2 * (most + 1)));
  const short = characters.slice(0, most).join('');
  return `${short.replace(UNSEEN, escaped)}${characters.length > most ? '...' : ''}`;
}

/** Control, format, private and unassigned characters, and halves of surrogate pairs. */
const UNSEEN = /[\p{C}\u2028\u2029]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escaped(character: string): string {
  return ESCAPES[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

// The limits of all samples are in one table, so that what an import accepts can always be installed. Text is measured in bytes
// of UTF-8, as PostgreSQL does.

/**
 * The columns of a primary key share one B-tree entry, which PostgreSQL limits to 2,704 bytes; the dataset id needs some of
 * them.
 */
export const LIMITS = {
  /** Files of an upload, counted while they are listed. */
  files: 100_000,
  /** An id of a gene list. */
  geneIdBytes: 80,
  geneIds: 1_000_000,
  /** A word of a gene list, before it is checked as an id. A file with longer words is no list. */
  wordBytes: 8_000,
  /** A cell of a study table: the name of a column, or a value. */
  cellBytes: 1_000,
  columns: 999,
  /** `row_number` is an integer of four bytes. */
  rows: 100_000_000,
  biomFileBytes: 32 * 1024 * 1024,
  /** An id of a row or a column of a BIOM matrix. Two of them are in a key. */
  biomIdBytes: 1_000,
  /** A sample's name and a gene's id. Both are in a key. */
  sampleBytes: 1_000,
  rnaGeneBytes: 1_000,
  genesPerSample: 1_000_000,
  /** A cell that is not part of a key. */
  rnaCellBytes: 10_000,
} as const;

/** The number of bytes in UTF-8. */
export const bytesOf = (text: string): number => Buffer.byteLength(text);

/** For messages: what was found and what is allowed. */
export const tooMany = (number: number, limit: number): string => `is number ${number}; at most ${limit} are taken`;
export const tooLong = (bytes: number, limit: number): string => `has ${bytes} bytes in UTF-8; at most ${limit} fit`;

/** A position in a text as people count: line and column from 1. A line ends with LF, CR LF or CR. */
export class TextPlace {
  line = 1;
  /** In characters (code points). */
  column = 1;
  #afterCr = false;

  /** Advances past this piece of the text, which may begin or end anywhere. */
  advance(text: string): void {
    for (const character of text) {
      if (character === '\n' && this.#afterCr) {
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = character === '\r';
      if (character === '\n' || character === '\r') {
        this.line++;
        this.column = 1;
      } else this.column++;
    }
  }

  toString(): string {
    return `line ${this.line}, column ${this.column}`;
  }
}

/** The position of the character at this index (in code units). */
export function placeAt(text: string, index: number): TextPlace {
  const place = new TextPlace();
  place.advance(text.slice(0, index));
  return place;
}
