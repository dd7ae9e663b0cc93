// The schema as editors and people get it: JSON Schema 2020-12 with descriptions, our annotations turned into words.

import { LIVE_KINDS, type LiveKind } from './live.ts';
import { isMap } from './path.ts';
import { ROOT_SCHEMA } from './schema/root.ts';

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
    typeof node['x-live'] === 'string' ? `A reload changes it: ${LIVE_KINDS[node['x-live'] as LiveKind]}.` : undefined,
    'x-forms' in node ? `Allowed: ${node['x-forms']}.` : undefined,
  ].filter((note) => typeof note === 'string');
  const entries = Object.entries(node)
    .filter(([key]) => !key.startsWith('x-') && key !== 'description')
    .map(([key, value]) => [key, plain(value)]);
  const known = Object.fromEntries(entries) as Record<string, unknown>;
  return notes.length > 0 ? { description: notes.join(' '), ...known } : known;
}
