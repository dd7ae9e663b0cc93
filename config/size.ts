// Sizes: a number of bytes, or text such as `10GB`, `10 GiB`, `512M`. As in SI and IEC 80000-13, G and GB are powers of 1000, Gi
// and GiB powers of 1024. Case does not matter.

import { isMap, type Path, pointerOf } from './path.ts';
import { childOf, type SchemaNode } from './schema-node.ts';

/** Accepts what the loader accepts, so that editors report the same errors. */
export const SIZE_PATTERN = '^\\d{1,16}(?:\\.\\d{1,6})? *(?:[kKmMgGtTpP](?:[iI]?[bB]|[iI])?|[bB]|[bB]ytes?)?$';
const SIZE = new RegExp(SIZE_PATTERN);
const PARTS = /^(\d+)(?:\.(\d+))? *([kmgtp])?(i)?/i;
const POWERS = 'kmgtp';
/** Digits of a fraction. */
const FRACTION = 6;

/** Undefined when the text is not a size, is no whole number of bytes, or is beyond 2^63. */
export function parseSize(text: string): number | undefined {
  if (!SIZE.test(text)) return undefined;
  const [, whole = '', fraction = '', prefix, binary] = PARTS.exec(text) ?? [];
  const power = prefix === undefined ? 0 : POWERS.indexOf(prefix.toLowerCase()) + 1;
  const unit = (binary === undefined ? 1000n : 1024n) ** BigInt(power);
  const scale = 10n ** BigInt(FRACTION);
  const bytes = BigInt(whole + fraction.padEnd(FRACTION, '0')) * unit;
  if (bytes % scale !== 0n || bytes / scale >= 2n ** 63n) return undefined;
  return Number(bytes / scale);
}

interface Sized {
  readonly document: unknown;
  /** The text of each size that was text, by JSON pointer. */
  readonly written: ReadonlyMap<string, string>;
}

/** A copy in which sizes that are text are numbers of bytes. What is no size stays text, which the schema refuses. */
export function readSizes(schema: SchemaNode, document: unknown): Sized {
  const written = new Map<string, string>();
  const visit = (node: SchemaNode | undefined, value: unknown, path: Path): unknown => {
    if (!node) return value;
    if (typeof value === 'string') {
      const bytes = node['x-form'] === 'size' ? parseSize(value) : undefined;
      if (bytes === undefined) return value;
      written.set(pointerOf(path), value);
      return bytes;
    }
    if (Array.isArray(value)) return value.map((item, i) => visit(childOf(node, value, i), item, [...path, i]));
    if (!isMap(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, visit(childOf(node, value, key), item, [...path, key])]),
    );
  };
  return { document: visit(schema, document, []), written };
}
