// Faults of a JSON document, told as its owner can find them: with line, column, and the value as the file has it.

import { type JsonPath, scanJson } from './json-scan.ts';
import { excerpt, Refusal } from './sample.ts';
import { placeAt } from './text-place.ts';

const MOST = 20;

interface Fault {
  readonly path: JsonPath;
  /** What the value has to be. */
  readonly rule: string;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Collects faults; {@link check} looks them up in the text. */
export class JsonFaults {
  readonly #text: string;
  readonly #faults: Fault[] = [];
  #more = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** @param rule what follows the value, such as `it must be a number` */
  add(path: JsonPath, rule: string): void {
    if (this.#faults.length < MOST) this.#faults.push({ path, rule });
    else this.#more++;
  }

  /** Throws a {@link Refusal} when there is any fault. */
  check(): void {
    if (this.#faults.length === 0) return;
    const ranges = this.#ranges();
    const messages = this.#faults.map((fault) => this.#sentence(fault, ranges));
    throw new Refusal(this.#more === 0 ? messages : [...messages, `and ${this.#more} more faults of this kind`]);
  }

  #sentence({ path, rule }: Fault, ranges: ReadonlyMap<string, Range>): string {
    const name = `'${path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i > 0 ? '.' : ''}${step}`)).join('')}'`;
    const range = ranges.get(keyOf(path));
    if (range !== undefined)
      return `${placeAt(this.#text, range.start)}: ${name} is ${excerpt(this.#text.slice(range.start, range.end))}; ${rule}`;
    const parent = ranges.get(keyOf(path.slice(0, -1)));
    return `${parent ? `${placeAt(this.#text, parent.start)}: ` : ''}${name} is missing; ${rule}`;
  }

  #ranges(): ReadonlyMap<string, Range> {
    const wanted = new Set(this.#faults.flatMap(({ path }) => [keyOf(path), keyOf(path.slice(0, -1))]));
    const deepest = Math.max(...this.#faults.map(({ path }) => path.length));
    const ranges = new Map<string, Range>();
    scanJson(this.#text, (path, start, end) => {
      if (path.length > deepest) return;
      const key = keyOf(path);
      if (wanted.has(key)) ranges.set(key, { start, end });
    });
    return ranges;
  }
}

const keyOf = (path: JsonPath): string => JSON.stringify(path);
