// A loaded document as a list of settings for people, without its secrets. Lists of plain values and sections of any content are
// one setting.

import { displayPath, isMap, type Path } from './path.ts';
import { ROOT_SCHEMA } from './schema/root.ts';
import { branchOf, childOf, LIVE_KINDS, type SchemaNode } from './schema-node.ts';
import { hideSecrets } from './secrets.ts';

interface ShownSetting {
  readonly path: string;
  readonly value: unknown;
  /** How a reload applies it; absent if it needs a restart. */
  readonly live?: string;
}

export function shownSettings(document: unknown): readonly ShownSetting[] {
  const settings: ShownSetting[] = [];
  const visit = (node: SchemaNode | undefined, value: unknown, shown: unknown, steps: Path): void => {
    const below = node && isDivided(node, value) ? stepsOf(shown) : undefined;
    if (!below) {
      const live = node?.['x-live'];
      settings.push({ path: displayPath(steps), value: shown, ...(live ? { live: LIVE_KINDS[live] } : {}) });
      return;
    }
    for (const step of below)
      visit(node && childOf(node, value, step), at(value, step), at(shown, step), [...steps, step]);
  };
  visit(ROOT_SCHEMA, document, hideSecrets(ROOT_SCHEMA, document), []);
  return settings;
}

/** A section with keys of its own, or a list of such sections. */
function isDivided(node: SchemaNode, value: unknown): boolean {
  const branch = branchOf(node, value);
  if (Array.isArray(value)) return value.some(isMap) && branch?.items !== undefined;
  return branch?.properties !== undefined || typeof branch?.additionalProperties === 'object';
}

/** Undefined if there are none. */
function stepsOf(value: unknown): readonly (string | number)[] | undefined {
  const steps = Array.isArray(value) ? [...value.keys()] : isMap(value) ? Object.keys(value) : [];
  return steps.length > 0 ? steps : undefined;
}

const at = (value: unknown, step: string | number): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined;
