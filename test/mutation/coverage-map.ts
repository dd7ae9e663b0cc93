// What each test file runs of each source: kept in a file, so that only what changed is measured again.
//
// Something is known of a pair of test file and source as long as neither that source nor the test's own files (itself
// and what it loads below test/) have changed. Whatever else changed may lead the test elsewhere, but seldom does.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isIn, type Ranges, read, written } from './covered-ranges.ts';

/** Version of the format; another one is thrown away. */
const FORMAT = 1;

/** What a run of a test file on the unchanged tree showed. */
export interface Measured {
  readonly passed: boolean;
  readonly ms: number;
  /** Undefined when it passes only while nothing is measured: then it may run all that it loads. */
  readonly ran: ReadonlyMap<string, Ranges> | undefined;
}

interface Kept {
  readonly format: number;
  /** Many tests run the same of a source, so each set of ranges is kept once. */
  readonly sources: Record<string, { readonly hash: string; readonly ranges: string[] }>;
  readonly tests: Record<string, KeptTest>;
}

interface KeptTest {
  readonly hash: string;
  readonly passed: boolean;
  readonly ms: number;
  /** The quickest that it was since. */
  readonly quickestMs?: number;
  /** By source, the number of its ranges; -1 is all of it. */
  readonly ran: Record<string, number>;
}

export class CoverageMap {
  readonly #file: string;
  readonly #kept: Kept;
  readonly #hashes = new Map<string, string>();
  readonly #read = new Map<string, Ranges>();

  /** `textOf` gives a file of the tree. */
  constructor(file: string, textOf: (path: string) => string | undefined) {
    this.#file = file;
    this.#kept = keptIn(file);
    const hash = (path: string): string => this.#hashes.get(path) ?? this.#hash(path, textOf(path) ?? '');
    this.hashOf = hash;
    for (const [source, { hash: known }] of Object.entries(this.#kept.sources)) {
      if (known !== hash(source)) this.#forget(source);
    }
  }

  /** Of the content of a file. */
  readonly hashOf: (path: string) => string;

  hashOfAll(paths: readonly string[]): string {
    return digest(paths.toSorted().map(this.hashOf).join());
  }

  /** True when it is known what `test`, made of files with this hash, runs of `source`. */
  knows(test: string, hash: string, source: string): boolean {
    const known = this.#kept.tests[test];
    // One that failed is tried again: it may have been the machine.
    return known?.hash === hash && known.passed && source in known.ran;
  }

  passes(test: string): boolean {
    return this.#kept.tests[test]?.passed === true;
  }

  /** What it took while it was measured. */
  msOf(test: string): number {
    return this.#kept.tests[test]?.ms ?? 0;
  }

  /** What it takes without being measured, on a machine with nothing else to do: as far as was seen. */
  quickestMsOf(test: string): number {
    return this.#kept.tests[test]?.quickestMs ?? this.msOf(test);
  }

  /** It passed in this time. */
  took(test: string, ms: number): void {
    const known = this.#kept.tests[test];
    if (known) this.#kept.tests[test] = { ...known, quickestMs: Math.round(Math.min(ms, this.quickestMsOf(test))) };
  }

  ranAt(test: string, source: string, offset: number): boolean {
    const number = this.#kept.tests[test]?.ran[source];
    if (number === undefined) return false;
    if (number < 0) return true;
    const key = `${source} ${number}`;
    const ranges = this.#read.get(key) ?? read(this.#kept.sources[source]?.ranges[number] ?? '');
    this.#read.set(key, ranges);
    return isIn(ranges, offset);
  }

  /** `loaded` are the sources that `test` may run; of those that it did not, that is kept, too. */
  keep(test: string, hash: string, loaded: readonly string[], { passed, ms, ran }: Measured): void {
    const numbers: Record<string, number> = {};
    for (const source of new Set([...loaded, ...(ran?.keys() ?? [])])) {
      this.#kept.sources[source] ??= { hash: this.hashOf(source), ranges: [] };
      numbers[source] = ran === undefined ? -1 : this.#numberOf(source, written(ran.get(source) ?? []));
    }
    this.#kept.tests[test] = { hash, passed, ms, ran: numbers };
  }

  save(): void {
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#kept));
    renameSync(`${this.#file}.new`, this.#file);
  }

  #forget(source: string): void {
    delete this.#kept.sources[source];
    for (const { ran } of Object.values(this.#kept.tests)) delete ran[source];
  }

  #hash(path: string, text: string): string {
    const hash = digest(text);
    this.#hashes.set(path, hash);
    return hash;
  }

  #numberOf(source: string, ranges: string): number {
    const known = this.#kept.sources[source]?.ranges ?? [];
    const at = known.indexOf(ranges);
    return at >= 0 ? at : known.push(ranges) - 1;
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

function keptIn(file: string): Kept {
  const nothing: Kept = { format: FORMAT, sources: {}, tests: {} };
  try {
    const kept: Kept = JSON.parse(readFileSync(file, 'utf8'));
    return kept.format === FORMAT ? kept : nothing;
  } catch {
    // Not there yet, or cut short: measured anew.
    return nothing;
  }
}
