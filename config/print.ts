// A loaded document as YAML that could be loaded again, were its secrets not hidden.

import { stringify } from 'yaml';
import { ROOT_SCHEMA } from './schema/root.ts';
import { hideSecrets } from './secrets.ts';

export function printDocument(document: Readonly<Record<string, unknown>>): string {
  return stringify(hideSecrets(ROOT_SCHEMA, document), { lineWidth: 0, aliasDuplicateObjects: false });
}
