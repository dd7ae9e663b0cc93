// What a sample plugin is: the five scripts of one dataset type, as functions. A script ends well, refuses the data with
// messages for their owner (exit 99), or fails (any other code).

import { Failure } from '../../engine/runtime/failure.ts';
import type { SampleDatabase } from './dataset-rows.ts';

/** How a script sees the world. */
export interface SampleIo {
  /** Where the dataset's files belong (`DATA_FILES`); the script makes the folder. */
  readonly dataFiles: string;
  /** One message for the owner; `basic:` is the default list, `community:` the other. */
  readonly say: (line: string) => void;
  /** One line for the operator. */
  readonly log: (line: string) => void;
  /** The data DB of the install target; opened at the first call, closed by the caller of the script. */
  readonly database: () => Promise<SampleDatabase>;
  readonly signal: AbortSignal;
}

export interface SampleDependency {
  readonly identifier: string;
  readonly version: string;
}

export interface SamplePlugin {
  /** Checks the files of `inputDir` and writes those that are to be installed to `outputDir`. */
  import(inputDir: string, outputDir: string, io: SampleIo): Promise<void>;
  checkCompatibility(dependencies: readonly SampleDependency[], io: SampleIo): Promise<void>;
  /** May be called again for the same dataset: the result is the same. */
  installData(dataset: string, dataDir: string, io: SampleIo): Promise<void>;
  installMeta(dataset: string, metaFile: string, propertiesDir: string, io: SampleIo): Promise<void>;
  uninstall(dataset: string, io: SampleIo): Promise<void>;
}

const SHOWN_FAULTS = 20;

/** The data are not what the type needs; every message is shown to their owner. */
export class Refusal extends Failure {
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super('rejected', messages.join('\n'));
    this.name = 'Refusal';
    this.messages = messages;
  }
}

/** Collects faults, so that the owner sees many at once but never a million. */
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

/** A value of the user as it may stand in a message, in quotes: short, with what cannot be seen as an escape. */
export const shown = (text: string): string => `'${excerpt(text)}'`;

/** As {@link shown}, with at most so many characters. */
export const shownShort = (text: string, most: number): string => `'${excerpt(text, most)}'`;

/** As {@link shown}, without quotes. */
export function excerpt(text: string, most = 60): string {
  const characters = Array.from(text.slice(0, 2 * (most + 1)));
  const short = characters.slice(0, most).join('');
  return `${short.replace(UNSEEN, escaped)}${characters.length > most ? '...' : ''}`;
}

/** Control, format, private and unassigned characters, and halves of pairs. */
const UNSEEN = /[\p{C}\u2028\u2029]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escaped(character: string): string {
  return ESCAPES[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
