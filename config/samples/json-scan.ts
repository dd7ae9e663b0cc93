// Scans users' JSON documents before they are parsed, and reports faults with line, column, and the value in the file.
// `JSON.parse` says neither where a value is nor how it is written. It takes the last of two members with the same name and
// accepts halves of surrogate pairs.

import { excerpt, placeAt, Refusal } from './sample.ts';

/** Names of members and indexes of items, from the root. */
export type JsonPath = readonly (string | number)[];

/** Called for each value at its end, with its range in the text. The path is only valid during the call. */
type JsonVisitor = (path: JsonPath, start: number, end: number) => void;

const MAX_DEPTH = 100;
const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERAL = /true|false|null/y;
/** Everything except quotes, backslashes and control characters. */
const PLAIN = /[ !#-[\]-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
/** What is quoted of a text that is no JSON. */
const WORD = /[^\s,:[\]{}]+|./y;

/** What is wrong with the text as JSON, with its position; undefined when it is valid. */
export function scanJson(text: string, visit: JsonVisitor = () => {}): string | undefined {
  try {
    new JsonScanner(text, visit).scan();
    return undefined;
  } catch (error) {
    if (error instanceof JsonFault) return error.message;
    throw error;
  }
}

class JsonFault extends Error {}

interface Container {
  readonly start: number;
  readonly close: '}' | ']';
  readonly names: Set<string> | undefined;
}

class JsonScanner {
  readonly #text: string;
  readonly #visit: JsonVisitor;
  readonly #path: (string | number)[] = [];
  readonly #open: Container[] = [];
  #at = 0;

  constructor(text: string, visit: JsonVisitor) {
    this.#text = text;
    this.#visit = visit;
  }

  scan(): void {
    do {
      this.#blank();
      if (this.#value()) this.#closeAll();
    } while (this.#open.length > 0);
    this.#blank();
    if (this.#at < this.#text.length) this.#refuse('the end of the file');
  }

  /** Takes a value, or the start of an object or array. Returns whether the value is complete. */
  #value(): boolean {
    const start = this.#at;
    const character = this.#text[start];
    if (character === '{' || character === '[') return this.#opened(character);
    if (character === '"') this.#string();
    else if (!this.#match(NUMBER) && !this.#match(LITERAL)) this.#refuse('a value');
    this.#visit(this.#path, start, this.#at);
    return true;
  }

  /** Whether the object or array that was opened is empty, and so complete. */
  #opened(character: '{' | '['): boolean {
    const close = character === '{' ? '}' : ']';
    if (this.#open.length >= MAX_DEPTH) this.#fault(`is nested deeper than ${MAX_DEPTH} levels`);
    this.#open.push({ start: this.#at++, close, names: character === '{' ? new Set() : undefined });
    this.#blank();
    if (this.#text[this.#at] === close) {
      this.#close();
      return true;
    }
    this.#path.push(0);
    if (character === '{') this.#name(`a name in double quotes or '}'`);
    return false;
  }

  /** Runs after a value: closes what ends with it, up to the start of the next value. */
  #closeAll(): void {
    for (;;) {
      const container = this.#open.at(-1);
      if (container === undefined) return;
      this.#blank();
      const character = this.#text[this.#at];
      if (character === ',') {
        this.#at++;
        this.#blank();
        if (container.names) this.#name('a name in double quotes');
        else this.#path.push(Number(this.#path.pop()) + 1);
        return;
      }
      if (character !== container.close) this.#refuse(`a comma or '${container.close}'`);
      this.#path.pop();
      this.#close();
    }
  }

  #close(): void {
    const start = this.#open.pop()?.start ?? 0;
    this.#at++;
    this.#visit(this.#path, start, this.#at);
  }

  #name(expected: string): void {
    const start = this.#at;
    if (this.#text[start] !== '"') this.#refuse(expected);
    this.#string();
    const name = JSON.parse(this.#text.slice(start, this.#at)) as string;
    const names = this.#open.at(-1)?.names;
    if (names?.has(name)) {
      const written = excerpt(this.#text.slice(start, this.#at));
      this.#at = start;
      this.#fault(`the member ${written} stands twice`);
    }
    names?.add(name);
    this.#path.pop();
    this.#path.push(name);
    this.#blank();
    if (this.#text[this.#at] !== ':') this.#refuse('a colon');
    this.#at++;
  }

  #string(): void {
    const start = this.#at++;
    let escapes = false;
    for (;;) {
      this.#match(PLAIN);
      const character = this.#text[this.#at];
      if (character === '"') break;
      if (character === undefined) {
        this.#at = start;
        this.#fault(`the text ${excerpt(this.#text.slice(start, start + 100))} is not closed`);
      }
      if (!this.#match(ESCAPE)) this.#refuse('a character of a text or an escape');
      escapes = true;
    }
    this.#at++;
    if (!escapes || (JSON.parse(this.#text.slice(start, this.#at)) as string).isWellFormed()) return;
    const written = excerpt(this.#text.slice(start, this.#at));
    this.#at = start;
    this.#fault(`the text ${written} holds half of a surrogate pair, which is no character`);
  }

  #blank(): void {
    this.#match(BLANK);
  }

  /** Advances past a match at the current position, if there is one. */
  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const found = pattern.test(this.#text);
    if (found) this.#at = pattern.lastIndex;
    return found;
  }

  #refuse(expected: string): never {
    WORD.lastIndex = this.#at;
    const [word] = WORD.exec(this.#text) ?? [];
    const found = this.#at >= this.#text.length ? 'the file ends' : `found '${excerpt(word ?? '\n', 30)}'`;
    this.#fault(`${found} where ${expected} should be`);
  }

  #fault(sentence: string): never {
    throw new JsonFault(`${placeAt(this.#text, this.#at)}: ${sentence}`);
  }
}

const MOST = 20;

interface Fault {
  readonly path: JsonPath;
  /** The requirement for the value. */
  readonly rule: string;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Collects faults; {@link check} finds their positions in the text. */
export class JsonFaults {
  readonly #text: string;
  readonly #faults: Fault[] = [];
  #more = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** @param rule continues the sentence after the value, such as `it must be a number` */
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
