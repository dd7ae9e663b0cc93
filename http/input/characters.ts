// Characters that no text of a user may hold; line breaks are for texts that have several lines.

import { hiddenCharacter, hiddenWords } from '../../engine/model/hidden-characters.ts';
import type { Faults, FieldPath } from './faults.ts';

/** Fields of several lines, wherever they stand. All others are names, words and addresses. */
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

/** The sentence of a fault, or undefined. */
export function characterFault(text: string, lines: boolean): string | undefined {
  const found = hiddenCharacter(text, lines);
  if (found) return `holds ${hiddenWords(found)}; ${lines ? 'text' : 'one line of text'} without such is required`;
  return text.isWellFormed() ? undefined : 'holds half of a surrogate pair, which is no character';
}

/** Adds a fault for each text in the value that holds what it may not. */
export function checkCharacters(value: unknown, faults: Pick<Faults, 'add'>, path: FieldPath = []): void {
  if (typeof value === 'string') {
    // A change wraps the value that it sets.
    const lines = path.some((step) => SEVERAL_LINES.has(step));
    const fault = characterFault(value, lines);
    if (fault !== undefined) faults.add(path, fault);
  } else if (Array.isArray(value)) for (const [i, item] of value.entries()) checkCharacters(item, faults, [...path, i]);
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) checkCharacters(item, faults, [...path, name]);
}
