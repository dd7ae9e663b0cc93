// Rules of the metadata that look at more than one field (docs/contract/installer.md#conditional-requirements).
// 'Public/community' means not private. A field that is faulty by itself is absent here: no rule judges it, and none calls it
// missing.

import type { FaultSink, FieldPath } from '../../kernel/input/faults.ts';
import type { CreateDetails } from '../schema/details.ts';
import type { ProjectCategory } from '../service/install-targets.ts';
import { readPublicationIdentifier } from './publication-identifier.ts';

export interface RuleInput {
  readonly details: Partial<CreateDetails>;
  /** Top-level fields that were given but are faulty, and so not in `details`. */
  readonly faulty: ReadonlySet<string>;
  /** Categories of the install targets that the dataset is submitted to. */
  readonly categories: ReadonlySet<ProjectCategory>;
}

export function checkRules(input: RuleInput, faults: FaultSink): void {
  for (const rule of [
    contactFields,
    projectFields,
    experimentalOrganism,
    studyFields,
    onePrimary,
    publicationIdentifiers,
    studyYears,
    controlledApproval,
  ]) {
    rule(input, faults);
  }
}

const STUDY_CATEGORIES: readonly ProjectCategory[] = ['microbiome', 'clinical-epidemiology'];
const ORGANISM_CATEGORIES: readonly ProjectCategory[] = ['genomics', 'vector', 'microbiome'];
const FULL_CONTACT = ['firstName', 'lastName', 'email', 'affiliation', 'country'] as const;

function contactFields({ details, categories }: RuleInput, faults: FaultSink): void {
  const category = anyOf(STUDY_CATEGORIES, categories);
  const visible = details.visibility !== undefined && details.visibility !== 'private';
  for (const [i, contact] of (details.contacts ?? []).entries()) {
    const because = contact.isPrimary
      ? 'of the primary contact'
      : category
        ? `of every contact of a ${category} dataset`
        : visible
          ? `of every contact of a dataset that is ${details.visibility}`
          : undefined;
    if (because === undefined) continue;
    for (const field of FULL_CONTACT)
      if (contact[field] === undefined) faults.add(['contacts', i, field], `is missing; it is required ${because}`);
  }
}

function projectFields(input: RuleInput, faults: FaultSink): void {
  const category = anyOf(STUDY_CATEGORIES, input.categories);
  if (!category) return;
  for (const field of ['projectName', 'programName']) demand(input, [field], category, faults);
}

function experimentalOrganism(input: RuleInput, faults: FaultSink): void {
  const category = anyOf(ORGANISM_CATEGORIES, input.categories);
  if (category) demand(input, ['experimentalOrganism'], category, faults);
}

function studyFields(input: RuleInput, faults: FaultSink): void {
  if (!input.categories.has('clinical-epidemiology')) return;
  for (const field of ['studyDesign', 'studyType'])
    demand(input, ['datasetCharacteristics', field], 'clinical-epidemiology', faults);
}

function onePrimary({ details }: RuleInput, faults: FaultSink): void {
  for (const list of ['contacts', 'publications'] as const) {
    const items: readonly { isPrimary?: boolean }[] = details[list] ?? [];
    const first = items.findIndex((item) => item.isPrimary);
    for (const [i, item] of items.entries())
      if (item.isPrimary && i > first)
        faults.add([list, i, 'isPrimary'], `is true, and so is that of ${list}[${first}]; at most one may be primary`);
  }
}

function publicationIdentifiers({ details }: RuleInput, faults: FaultSink): void {
  const seen = new Map<string, number>();
  for (const [i, publication] of (details.publications ?? []).entries()) {
    const read = readPublicationIdentifier(publication);
    if ('fault' in read) {
      faults.add(['publications', i, 'identifier'], read.fault);
      continue;
    }
    const key = `${read.type}:${read.identifier}`;
    const before = seen.get(key);
    if (before === undefined) seen.set(key, i);
    else faults.add(['publications', i, 'identifier'], `names the same publication as publications[${before}]`);
  }
}

function studyYears({ details }: RuleInput, faults: FaultSink): void {
  const years = details.datasetCharacteristics?.years;
  if (years && years.end < years.start)
    faults.add(
      ['datasetCharacteristics', 'years', 'end'],
      `is ${years.end}, before the start ${years.start}; it must not be earlier`,
    );
}

/** `controlled` means protected with 0 days for approval; -1 is what an untouched form sends. */
function controlledApproval({ details }: RuleInput, faults: FaultSink): void {
  const days = details.daysForApproval ?? 0;
  if (details.visibility === 'controlled' && days > 0)
    faults.add(['daysForApproval'], `is ${days}; a controlled dataset has 0 days for approval`);
}

function demand(input: RuleInput, path: FieldPath, category: ProjectCategory, faults: FaultSink): void {
  let at: unknown = input.details;
  for (const step of path) at = (at as Record<string, unknown> | undefined)?.[step];
  if (at === undefined && !input.faulty.has(String(path[0])))
    faults.add(path, `is missing; it is required of a ${category} dataset`);
}

function anyOf(wanted: readonly ProjectCategory[], found: ReadonlySet<ProjectCategory>): ProjectCategory | undefined {
  return wanted.find((category) => found.has(category));
}
