// What is printed of the configuration: the reference, the JSON Schema for editors, and a loaded document with its secrets
// hidden. The reference is every key as Markdown, generated from the schema, with a table for each section. REFERENCE.md beside
// this file is its output; test/config/reference.test.ts compares them.

import { stringify } from 'yaml';
import { allowedBy } from './describe.ts';
import { isMap } from './path.ts';
import { UNITS_ALLOWED } from './schema/field.ts';
import { ROOT_SCHEMA } from './schema/root.ts';
import { driversOf, isDriverUnion, LIVE_KINDS, type LiveKind, type SchemaNode } from './schema-node.ts';
import { hideSecrets } from './secrets.ts';

interface Row {
  /** Relative to the section. `*` stands for any key of a map, `[]` for each item of a list. */
  readonly key: string;
  readonly what: string;
  readonly allowed: string;
  /** The value if the key is absent. */
  readonly default: string;
}

/** Large sections: each of their keys has its own table. */
const DIVIDED: ReadonlySet<string> = new Set(['installer']);

/** Described once, not in each row. */
const DURATION = /^a duration with .*?'PT1H30M'/;

const INTRODUCTION = `# Configuration reference

Made by \`longshore config reference > config/REFERENCE.md\` from the schema; do not edit. \`longshore config schema\` prints the
same for editors, as JSON Schema.

- \`*\` in a key stands for a name that the file chooses, \`[]\` for each item of a list.
- A duration is a number with a unit, or several in descending order: \`90s\`, \`1h30m\`, \`1d 12h\`, \`1.5 hours\`, \`5 minutes\`. The
  units are w d h m s ms us ns and their names. ISO 8601 is accepted too: \`PT1H30M\`. A number alone is refused.
- A size is a number of bytes, or a number with a unit: \`10GB\`, \`10 GiB\`, \`1.5G\`, \`512M\`. kB, MB, GB, TB and k, M, G, T are powers
  of 1000 (1 GB = 10^9 bytes); KiB, MiB, GiB, TiB and Ki, Mi, Gi, Ti are powers of 1024 (1 GiB = 2^30 bytes).
- **required**: a section without this key is refused.
- A section that is not in the file has the defaults of its keys; a root section without which a service is not started says so.
`;

export function reference(root: SchemaNode): string {
  const tables = Object.entries(root.properties ?? {}).flatMap(([name, node]) => tablesOf(name, node));
  return [INTRODUCTION, ...tables].join('\n');
}

function tablesOf(name: string, node: SchemaNode): readonly string[] {
  const needed = node.required ?? [];
  const head = `## ${name}\n\n${node.description ?? ''}\n`;
  if (!DIVIDED.has(name)) return [head, ...table(rowsOf(node, '', needed))];
  const parts = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const rows = rowsOfKey(key, child, needed.includes(key));
    return [`### ${name}.${key}\n`, ...table(rows)];
  });
  return [head, ...parts];
}

/** The rows of the keys below a node. */
function rowsOf(node: SchemaNode, prefix: string, needed: readonly string[] = node.required ?? []): readonly Row[] {
  const { properties = {}, additionalProperties, items, anyOf } = node;
  if (anyOf) return anyOf.flatMap((branch) => rowsOf(branch, prefix));
  const rows = Object.entries(properties).flatMap(([key, child]) =>
    rowsOfKey(`${prefix}${key}`, child, needed.includes(key)),
  );
  if (typeof additionalProperties === 'object') rows.push(...rowsOfKey(`${prefix}*`, additionalProperties, false));
  if (items) rows.push(...rowsOf(items, `${prefix.slice(0, -1)}[].`));
  return rows;
}

function rowsOfKey(key: string, node: SchemaNode, isNeeded: boolean): readonly Row[] {
  const row = { key, what: whatOf(node), allowed: shortly(node), default: defaultOf(node, isNeeded) };
  return [row, ...rowsOf(node, `${key}.`)];
}

function whatOf(node: SchemaNode): string {
  const said = [node.description ?? ''];
  if (node.writeOnly) said.push('Secret: never printed.');
  if (node['x-live']) said.push(`Reload: ${LIVE_KINDS[node['x-live']]}.`);
  if (node['x-ignored']) said.push(`Without effect: ${node['x-ignored']}.`);
  return said.filter((text) => text !== '').join(' ');
}

/** The keys of a map have their own rows. */
function shortly(node: SchemaNode): string {
  if (isDriverUnion(node)) return `\`driver\` is one of ${driversOf(node).join(', ')}`;
  return node.properties && !node['x-allowed']
    ? 'a section'
    : allowedBy(node).replace(DURATION, 'a duration').replace(UNITS_ALLOWED, '');
}

function defaultOf(node: SchemaNode, isNeeded: boolean): string {
  if (isNeeded) return '**required**';
  if (node['x-derived'] !== undefined) return node['x-derived'];
  const { default: value } = node;
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0))
    return '';
  return `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``;
}

/** Empty if there are no rows. */
function table(rows: readonly Row[]): readonly string[] {
  if (rows.length === 0) return [];
  const lines = rows.map(({ key, what, allowed, default: value }) =>
    ['', `\`${key}\``, what, allowed, value, '']
      .map((cell) => cell.replaceAll('|', '\\|'))
      .join(' | ')
      .trim(),
  );
  return ['| key | what | allowed | default |', '| --- | --- | --- | --- |', ...lines, ''];
}

/** The schema for editors and people: JSON Schema 2020-12, with our annotations as text in descriptions. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Longshore configuration',
    ...(plain(ROOT_SCHEMA) as Record<string, unknown>),
  };
}

function plain(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(plain);
  if (!isMap(node)) return node;
  const notes = [
    node.description,
    'x-derived' in node ? `Default: ${node['x-derived']}.` : undefined,
    'x-ignored' in node ? `Without effect: ${node['x-ignored']}.` : undefined,
    typeof node['x-live'] === 'string' ? `Reload: ${LIVE_KINDS[node['x-live'] as LiveKind]}.` : undefined,
    'x-forms' in node ? `Allowed: ${node['x-forms']}.` : undefined,
  ].filter((note) => typeof note === 'string');
  const entries = Object.entries(node)
    .filter(([key]) => !key.startsWith('x-') && key !== 'description')
    .map(([key, value]) => [key, plain(value)]);
  const known = Object.fromEntries(entries) as Record<string, unknown>;
  return notes.length > 0 ? { description: notes.join(' '), ...known } : known;
}

/** A loaded document as YAML; it could be loaded again if its secrets were not hidden. */
export function printDocument(document: Readonly<Record<string, unknown>>): string {
  return stringify(shownDocument(document), { lineWidth: 0, aliasDuplicateObjects: false });
}

/** A copy of the document with its secrets hidden. */
export const shownDocument = (document: Readonly<Record<string, unknown>>): unknown =>
  hideSecrets(ROOT_SCHEMA, document);
