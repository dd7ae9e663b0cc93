// Compares two loaded documents, setting by setting. Values are compared by their meaning: `60s` equals `1m`. A section, an
// entry of a map or a list that only one document has is one change, and so is a list whose length differs.

import { isDeepStrictEqual } from 'node:util';
import { resolveForms } from './forms.ts';
import { displayPath, isMap, type Path } from './path.ts';
import { branchIndex, childOf, type LiveKind, type SchemaNode } from './schema-node.ts';

export interface SettingChange {
  readonly steps: Path;
  /** For display. */
  readonly path: string;
  /** As it is written in the file; undefined where it is absent. May be or contain a secret, unless the change is live. */
  readonly from: unknown;
  readonly to: unknown;
  /** How it takes effect without a restart; undefined when it needs one. */
  readonly live: LiveKind | undefined;
}

interface DocumentChanges {
  readonly changes: readonly SettingChange[];
  /** Number of settings that are equal. */
  readonly unchanged: number;
}

/** @param dir folder of the configuration file, where relative paths start */
export function changesBetween(schema: SchemaNode, before: unknown, after: unknown, dir: string): DocumentChanges {
  const changes: SettingChange[] = [];
  let unchanged = 0;

  const visit = (node: SchemaNode | undefined, from: unknown, to: unknown, steps: Path): void => {
    const same = isDeepStrictEqual(meaning(node, from, dir), meaning(node, to, dir));
    const below = node && stepsBelow(node, from, to);
    if (below) {
      for (const step of below) visit(childOf(node, to, step), at(from, step), at(to, step), [...steps, step]);
    } else if (same) unchanged++;
    else changes.push({ steps, path: displayPath(steps), from, to, live: liveKind(node, from, to) });
  };

  visit(schema, before, after, []);
  return { changes, unchanged };
}

/** A copy of the document with the changes applied. */
export function withChanges(document: unknown, changes: readonly Pick<SettingChange, 'steps' | 'to'>[]): unknown {
  const copy = structuredClone(document);
  for (const { steps, to } of changes) {
    const holder = steps.slice(0, -1).reduce<unknown>(at, copy);
    const last = steps.at(-1);
    if (last !== undefined && typeof holder === 'object' && holder !== null) Reflect.set(holder, last, to);
  }
  return copy;
}

/** Undefined when the two values are compared as a whole. */
function stepsBelow(node: SchemaNode, from: unknown, to: unknown): readonly (string | number)[] | undefined {
  if (node['x-form'] !== undefined || node.writeOnly) return undefined;
  if (branchIndex(node, from) !== branchIndex(node, to)) return undefined;
  if (Array.isArray(from) && Array.isArray(to)) return from.length === to.length ? [...to.keys()] : undefined;
  if (!isMap(from) || !isMap(to)) return undefined;
  return [...new Set([...Object.keys(to), ...Object.keys(from)])];
}

/** A value that only one document has was added or removed with its section. */
const liveKind = (node: SchemaNode | undefined, from: unknown, to: unknown): LiveKind | undefined =>
  from === undefined || to === undefined || node?.writeOnly ? undefined : node?.['x-live'];

const meaning = (node: SchemaNode | undefined, value: unknown, dir: string): unknown =>
  node && value !== undefined ? resolveForms(node, value, dir) : value;

const at = (value: unknown, step: string | number): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined;
