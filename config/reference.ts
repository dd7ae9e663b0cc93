// Every key of the configuration as Markdown, from the schema alone: a table for each section. REFERENCE.md beside this file
// is what it gives, which test/config/reference.test.ts holds.

import { allowedBy } from './describe.ts';
import { LIVE_KINDS } from './live.ts';
import { driversOf, isDriverUnion, type SchemaNode } from './schema-node.ts';

interface Row {
  /** From the section; `*` stands for a key that the file chooses, `[]` for each item of a list. */
  readonly key: string;
  readonly what: string;
  readonly allowed: string;
  /** What holds when the key is absent. */
  readonly default: string;
}

/** Sections that are so large that each of their keys has a table of its own. */
const DIVIDED: ReadonlySet<string> = new Set(['installer']);

/** Said once for all. */
const DURATION = /^a duration: .*?'1\.5s'/;

const INTRODUCTION = `# Configuration reference

Made by \`longshore config reference > config/REFERENCE.md\` from the schema; do not edit. \`longshore config schema\` prints the
same for editors, as JSON Schema.

- \`*\` in a key stands for a name that the file chooses, \`[]\` for each item of a list.
- A duration is written in units d h m s ms us ns in descending order: \`1d 12h\`, \`1.5s\`.
- **needed**: the file is not loaded without it, where its section is there.
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

/** Of the keys below a node. */
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
  if (node['x-live']) said.push(`Taken over by a reload: ${LIVE_KINDS[node['x-live']]}.`);
  if (node['x-ignored']) said.push(`Without effect: ${node['x-ignored']}.`);
  return said.filter((text) => text !== '').join(' ');
}

/** The keys of a map have rows of their own. */
function shortly(node: SchemaNode): string {
  if (isDriverUnion(node)) return `\`driver\` is one of ${driversOf(node).join(', ')}`;
  return node.properties && !node['x-allowed'] ? 'a section' : allowedBy(node).replace(DURATION, 'a duration');
}

function defaultOf(node: SchemaNode, isNeeded: boolean): string {
  if (isNeeded) return '**needed**';
  if (node['x-derived'] !== undefined) return node['x-derived'];
  const { default: value } = node;
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0))
    return '';
  return `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``;
}

/** None without rows. */
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
