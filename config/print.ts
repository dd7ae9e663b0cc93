// A loaded document as YAML that could be loaded again, were its secrets not hidden.

import { stringify } from 'yaml';
import { ROOT_SCHEMA } from './schema/root.ts';
import { hideSecrets } from './secrets.ts';

export function printDocument(document: Readonly<Record<string, unknown>>): string {
  return stringify(shownDocument(document), { lineWidth: 0, aliasDuplicateObjects: false });
}

/** The document with its secrets hidden. */
export const shownDocument = (document: Readonly<Record<string, unknown>>): unknown =>
  hideSecrets(ROOT_SCHEMA, document);
