// Rejects hidden characters in texts of users. Line breaks are allowed only in fields that may have several lines.

import { hiddenCharacter, hiddenWords } from '../../../engine/model/file-name.ts';
import type { Faults, FieldPath } from './faults.ts';

/** Names of fields that may have several lines, at any depth. All other fields are single-line names, words and addresses. */
const SEVERAL_LINES: ReadonlySet<string | number> = new Set([
  'affiliation',
  'analysisPlan',
  'citation',
  'dataDisclaimer',
  'denialReason',
  'description',
  'disseminationPlan',
  'priorAuth',
  'purpose',
  'researchQuestion',
  'revisionNote',
  'summary',
]);

/** Returns the sentence that describes the fault; undefined when there is none. */
export function characterFault(text: string, lines: boolean): string | undefined {
  const found = hiddenCharacter(text, lines);
  if (found) return `holds ${hiddenWords(found)}; ${lines ? 'text' : 'one line of text'} without such is required`;
  return text.isWellFormed() ? undefined : 'holds half of a surrogate pair, which is no character';
}

/** Adds a fault for each text in `value` that has a hidden character. */
export function checkCharacters(value: unknown, faults: Pick<Faults, 'add'>, path: FieldPath = []): void {
  if (typeof value === 'string') {
    // A patch wraps the new value in an object, so the name of the field may be further up.
    const lines = path.some((step) => SEVERAL_LINES.has(step));
    const fault = characterFault(value, lines);
    if (fault !== undefined) faults.add(path, fault);
  } else if (Array.isArray(value)) for (const [i, item] of value.entries()) checkCharacters(item, faults, [...path, i]);
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) checkCharacters(item, faults, [...path, name]);
}
