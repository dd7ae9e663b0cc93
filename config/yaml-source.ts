// Reads YAML into plain values, each with its position in the text. Aliases and merge keys (`<<`) are expanded here under a
// budget, so that an alias bomb is refused before it expands. Custom tags, duplicate keys and keys that are not text are
// faults.

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
} from 'yaml';
import { type Path, pointerOf } from './path.ts';
import { COMMENT, syntaxFaults } from './syntax-faults.ts';

export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

export interface Mark {
  /** Where the value starts. */
  readonly value: Position;
  /** Where its key starts; absent for items of a list and for the root. */
  readonly key?: Position;
  /** The text of a number. As a version, `1.0` differs from `1`. */
  readonly text?: string;
}

interface SourceFault {
  readonly position: Position;
  readonly path: Path;
  readonly found: string;
  readonly allowed: string;
}

export interface YamlSource {
  readonly value: unknown;
  /** By JSON pointer. */
  readonly marks: ReadonlyMap<string, Mark>;
  readonly faults: readonly SourceFault[];
  /** False when the text is not YAML at all; `value` is meaningless then. */
  readonly readable: boolean;
}

/** Most values after the expansion of aliases: far more than any real file has, and few enough to be harmless. */
const MAX_VALUES = 50_000;
const MAX_DEPTH = 100;
const CORE_TAGS = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((tag) => `tag:yaml.org,2002:${tag}`),
);

/** The parser's own count misses a line that ends with a malformed alias, such as `*a,`. */
function lineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return lines;
}

export function readYaml(text: string): YamlSource {
  const lines = lineCounter(text);
  const document = parseDocument(text, {
    // The library's pretty messages quote the text around a fault, which may contain a password.
    prettyErrors: false,
    intAsBigInt: true,
    resolveKnownTags: false,
    // The library's check for duplicates is quadratic in the number of keys; ours is below.
    uniqueKeys: false,
  });
  const place = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const faults: SourceFault[] = syntaxFaults(text, document.errors).map(({ offset, ...fault }) => ({
    position: place(offset),
    path: [],
    ...fault,
  }));
  if (document.directives.yaml.explicit && document.directives.yaml.version !== '1.2')
    faults.push({
      position: place(0),
      path: [],
      found: `%YAML ${document.directives.yaml.version}`,
      allowed: '%YAML 1.2',
    });
  if (faults.length > 0) return { value: undefined, marks: new Map(), faults, readable: false };
  const reader = new Reader(text, place, faults);
  return { value: reader.root(document), marks: reader.marks, faults, readable: !reader.exhausted };
}

class Reader {
  readonly marks = new Map<string, Mark>();
  exhausted = false;
  readonly #text: string;
  readonly #place: (offset: number) => Position;
  readonly #faults: SourceFault[];
  readonly #anchors = new Map<string, Node>();
  /** Anchored nodes that are being expanded. An alias to one of them is a cycle. */
  readonly #open = new Set<Node>();
  #values = 0;
  #aliasDepth = 0;

  constructor(text: string, place: (offset: number) => Position, faults: SourceFault[]) {
    this.#text = text;
    this.#place = place;
    this.#faults = faults;
  }

  root(document: Document.Parsed): unknown {
    return this.#convert(document.contents, []);
  }

  #convert(node: Node | null, path: Path, key?: Position): unknown {
    if (this.exhausted) return undefined;
    if (++this.#values > MAX_VALUES || path.length > MAX_DEPTH) {
      this.exhausted = true;
      const found = path.length > MAX_DEPTH ? `more than ${MAX_DEPTH} levels` : `more than ${MAX_VALUES} values`;
      this.#fault(node, path.slice(0, 3), `${found} after expanding aliases`, `at most ${MAX_VALUES} values`);
      return undefined;
    }
    if (isAlias(node)) return this.#alias(node, node.source, path, key);
    if (node?.anchor !== undefined && this.#aliasDepth === 0) this.#anchors.set(node.anchor, node);
    const text = isScalar(node) && typeof node.value !== 'string' ? node.source : undefined;
    this.marks.set(pointerOf(path), {
      value: this.#position(node),
      ...(key ? { key } : {}),
      ...(text === undefined ? {} : { text }),
    });
    if (node?.tag !== undefined && !CORE_TAGS.has(node.tag))
      this.#fault(node, path, tagFound(node.tag), 'values without tags');
    if (isScalar(node)) {
      this.#continuedByComment(node, path);
      return scalar(node.value);
    }
    if (!isMap(node) && !isSeq(node)) return null;
    this.#open.add(node);
    const value = isMap(node)
      ? this.#map(node.items as Pair<Node, Node | null>[], path)
      : node.items.map((item, i) => this.#convert(item as Node | null, [...path, i]));
    this.#open.delete(node);
    return value;
  }

  #alias(node: Node, name: string, path: Path, key?: Position): unknown {
    const target = this.#anchors.get(name);
    if (!target || this.#open.has(target)) {
      this.marks.set(pointerOf(path), { value: this.#position(node), ...(key ? { key } : {}) });
      // Without an anchor, it may be a password that begins with an asterisk.
      const found = target
        ? `the alias *${name} inside its own anchor`
        : 'an alias without an anchor before it (quote a value that begins with *)';
      this.#fault(node, path, found, 'an alias of an earlier, closed anchor');
      return null;
    }
    this.#aliasDepth++;
    try {
      return this.#convert(target, path, key);
    } finally {
      this.#aliasDepth--;
    }
  }

  #map(pairs: readonly Pair<Node, Node | null>[], path: Path): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    const merged: (Node | null)[] = [];
    for (const { key: node, value } of pairs) {
      const name = this.#keyText(node, path);
      if (name === undefined) continue;
      if (name.startsWith('//') && isScalar(node) && node.type === 'PLAIN')
        this.#faultAt(node.range?.[0] ?? 0, path, COMMENT);
      else if (name === '<<') merged.push(value);
      else if (Object.hasOwn(result, name))
        this.#fault(node, [...path, name], 'the key a second time', 'each key once per map');
      else result[name] = this.#convert(value, [...path, name], this.#position(node));
    }
    for (const node of merged) this.#merge(node, result, path);
    return result;
  }

  /** Own keys take precedence over merged ones, and earlier merged ones over later ones. */
  #merge(node: Node | null, into: Record<string, unknown>, path: Path): void {
    const target = isAlias(node) ? this.#anchors.get(node.source) : node;
    if (isSeq(target)) {
      for (const item of target.items) this.#merge(item as Node | null, into, path);
      return;
    }
    if (!isMap(target) || this.#open.has(target)) {
      this.#fault(
        node,
        [...path, '<<'],
        'a merge of something else',
        '<<: followed by an alias of a map, or a list of them',
      );
      return;
    }
    this.#aliasDepth++;
    this.#open.add(target);
    for (const { key, value } of target.items as Pair<Node, Node | null>[]) {
      const name = this.#keyText(key, path);
      if (name === '<<') this.#merge(value, into, path);
      else if (name !== undefined && !Object.hasOwn(into, name))
        into[name] = this.#convert(value, [...path, name], this.#position(key));
    }
    this.#open.delete(target);
    this.#aliasDepth--;
  }

  #keyText(node: Node | null, path: Path): string | undefined {
    const key = isAlias(node) ? this.#anchors.get(node.source) : node;
    const name = isScalar(key) && key.value !== null ? String(key.source ?? key.value) : undefined;
    if (name === undefined || name === '__proto__') {
      this.#fault(
        node,
        path,
        name === undefined ? 'a key that is not text' : "the key '__proto__'",
        'keys that are text',
      );
      return undefined;
    }
    return name;
  }

  #position(node: Node | null): Position {
    return this.#place(node?.range?.[0] ?? 0);
  }

  /** In a plain value, a line below it that begins with `//` would be part of the value. */
  #continuedByComment({ type, range }: Scalar, path: Path): void {
    if (type !== 'PLAIN' || !range) return;
    const [start, end] = range;
    const comment = /\n[ \t]*(?=\/\/)/.exec(this.#text.slice(start, end));
    if (comment) this.#faultAt(start + comment.index + comment[0].length, path, COMMENT);
  }

  #faultAt(offset: number, path: Path, fault: Pick<SourceFault, 'found' | 'allowed'>): void {
    this.#faults.push({ position: this.#place(offset), path, ...fault });
  }

  #fault(node: Node | null, path: Path, found: string, allowed: string): void {
    this.#faults.push({ position: this.#position(node), path, found, allowed });
  }
}

/** Of another tag than those of YAML, the name may be a password that begins with an exclamation mark. */
const tagFound = (tag: string): string =>
  tag.startsWith('tag:yaml.org,2002:') ? `the tag ${JSON.stringify(tag)}` : 'a tag (quote a value that begins with !)';

/** Integers above 2^53 are rounded towards zero to 53 bits, so that 2^63-1 stays below 2^63. */
function scalar(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  const magnitude = value < 0n ? -value : value;
  const lost = BigInt(Math.max(0, magnitude.toString(2).length - 53));
  const kept = Number((magnitude >> lost) << lost);
  return value < 0n ? -kept : kept;
}
