// Rules of the metadata that look at more than one field (docs/contract/installer.md#conditional-requirements), and the forms
// of publication identifiers. 'Public/community' means not private. A field that is faulty by itself is absent here: no rule
// judges it, and none reports it as missing.

import { ARCHIVE_EXTENSIONS, type DataType, typeKey } from '../../../engine/model/data-types.ts';
import { hiddenCharacter, reservedNameFault } from '../../../engine/model/file-name.ts';
import type { FileEntry, Publication } from '../../../engine/model/metadata.ts';
import type { Visibility } from '../../../engine/model/status.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { FaultSink, FieldPath } from '../../kernel/input/faults.ts';
import type { ProjectCategory } from '../install-targets.ts';
import type { CreateDetails } from './create-details.ts';

/**
 * The two forms of a publication identifier. The prefixes `pmid:` and `doi:` are allowed, and so are the URLs that people
 * paste (`https://doi.org/`, `https://pubmed.ncbi.nlm.nih.gov/`). They determine the type when it is not given; they are not
 * stored and do not count for the length. A DOI is stored decoded, because URLs write some of its characters as `%2F` or `%3C`.
 */
const FORMS = {
  pmid: { pattern: /^[0-9]+$/, words: 'a PubMed id is digits only' },
  doi: { pattern: /^10\.[^\s/]+\/\S+$/, words: "a DOI looks like '10.1000/182'" },
} as const;

const DOI_ADDRESS = /^(?:https?:\/\/)?(?:dx\.|www\.)?doi\.org\/(?:doi(?::|%3A)\s*)?/i;
const PREFIXES: readonly (readonly [Publication['type'], RegExp])[] = [
  ['pmid', /^pmid:\s*/i],
  ['doi', /^doi:\s*/i],
  ['doi', DOI_ADDRESS],
  [
    'pmid',
    /^(?:https?:\/\/)?(?:pubmed\.ncbi\.nlm\.nih\.gov|www\.ncbi\.nlm\.nih\.gov\/pubmed|europepmc\.org\/article\/med)\//i,
  ],
];

/** The identifier without its prefix, and the type that the prefix names. */
export function withoutPrefix(given: string): {
  readonly identifier: string;
  readonly named: Publication['type'] | undefined;
} {
  for (const [named, prefix] of PREFIXES) {
    const rest = given.replace(prefix, '');
    // The URL of an article may end with a slash. So may a DOI, but there it is part of the DOI.
    if (rest === given) continue;
    if (named === 'pmid') return { identifier: rest.replace(/\/$/, ''), named };
    return { identifier: prefix === DOI_ADDRESS ? decoded(rest) : decodedSlash(rest), named };
  }
  return { identifier: decodedSlash(given), named: undefined };
}

/** A DOI may contain a percent sign, but always has a slash: one without comes from a URL and is encoded. */
const decodedSlash = (text: string): string => (/^10\.[^/]*%2f/i.test(text) ? decoded(text) : text);

/** Returns the text itself if it is not encoded, or if decoding yields a hidden character. */
function decoded(text: string): string {
  try {
    const read = decodeURIComponent(text);
    return hiddenCharacter(read) ? text : read;
  } catch {
    return text;
  }
}

type PublicationIdentifier = Pick<Publication, 'identifier' | 'type'>;

/** The identifier as it is stored, or a sentence that says what is wrong with it. */
export function readPublicationIdentifier(publication: {
  readonly identifier: string;
  readonly type?: Publication['type'] | undefined;
}): PublicationIdentifier | { readonly fault: string } {
  const { identifier, named } = withoutPrefix(publication.identifier);
  const type = publication.type ?? named ?? 'pmid';
  if (named !== undefined && named !== type)
    return { fault: `is ${quote(publication.identifier)}, but the type is '${type}'` };
  if (FORMS[type].pattern.test(identifier)) return { identifier, type };
  const hint = type === 'pmid' && FORMS.doi.pattern.test(identifier) ? " (give it the type 'doi')" : '';
  return { fault: `is ${quote(publication.identifier)}; ${FORMS[type].words}${hint}` };
}

interface RuleInput {
  readonly details: Partial<CreateDetails>;
  /** Top-level fields that were given but are faulty, so they are not in `details`. */
  readonly faulty: ReadonlySet<string>;
  /** Categories of the install targets that the dataset is submitted to. */
  readonly categories: ReadonlySet<ProjectCategory>;
}

export function checkRules(input: RuleInput, faults: FaultSink): void {
  for (const rule of [
    contactFields,
    demandedFields,
    onePrimary,
    publicationIdentifiers,
    studyYears,
    controlledApproval,
  ]) {
    rule(input, faults);
  }
}

const STUDY_CATEGORIES: readonly ProjectCategory[] = ['microbiome', 'clinical-epidemiology'];
/** Fields that datasets for a target of these categories must have. */
const DEMANDED: readonly (readonly [path: FieldPath, of: readonly ProjectCategory[]])[] = [
  [['projectName'], STUDY_CATEGORIES],
  [['programName'], STUDY_CATEGORIES],
  [['experimentalOrganism'], ['genomics', 'vector', 'microbiome']],
  [['datasetCharacteristics', 'studyDesign'], ['clinical-epidemiology']],
  [['datasetCharacteristics', 'studyType'], ['clinical-epidemiology']],
];
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

function demandedFields(input: RuleInput, faults: FaultSink): void {
  for (const [path, of] of DEMANDED) {
    const category = anyOf(of, input.categories);
    if (category) demand(input, path, category, faults);
  }
}

/** The paths of the fields that datasets for a target of the category must have, besides those that every dataset has. */
export const demandedOf = (category: ProjectCategory): readonly string[] =>
  DEMANDED.filter(([, of]) => of.includes(category)).map(([path]) => path.join('.'));

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

/** `controlled` means protected with 0 days for approval. Forms send -1 when nothing was entered. */
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

// The files that a data type accepts: extensions and sizes of data files, and property files.

interface UploadedFiles {
  readonly data: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
}

export function checkFiles(
  type: DataType,
  visibility: Visibility,
  files: UploadedFiles,
  faults: Pick<FaultSink, 'add'>,
): void {
  for (const file of files.data) checkDataFile(type, file, files.data.length === 1, faults);
  const several = files.properties.length > 0;
  if (several && !type.usesDataProperties)
    faults.add(['dataPropertiesFile'], `is given, but ${typeKey(type)} does not use data property files`);
  if (!several && type.usesDataProperties && visibility !== 'private')
    faults.add(['dataPropertiesFile'], `is missing; a ${visibility} dataset of ${typeKey(type)} needs one`);
}

/** The files in an archive are checked when it is unpacked; it is unpacked only if it is the only file. */
function checkDataFile(type: DataType, file: FileEntry, alone: boolean, faults: Pick<FaultSink, 'add'>): void {
  if (file.size === 0) faults.add(['dataFile'], `${quote(file.name)} is empty; it must have at least one byte`);
  const fault = dataNameFault(type, file.name, alone);
  if (fault) faults.add(['dataFile'], fault);
  else if (file.size > type.maxFileSize && !(alone && hasExtension(file.name, ARCHIVE_EXTENSIONS)))
    faults.add(
      ['dataFile'],
      `${quote(file.name)} has ${file.size} bytes; a file of ${typeKey(type)} may have ${type.maxFileSize}`,
    );
}

/** What is wrong with the name of a data file that is sent, or undefined. */
export function dataNameFault(type: DataType, name: string, alone: boolean): string | undefined {
  const reserved = reservedNameFault(name);
  return reserved ? `${quote(name)} ${reserved}` : extensionFault(type, name, alone);
}

/** What is wrong with the extension of a data file, or undefined. */
export function extensionFault(type: DataType, name: string, alone: boolean): string | undefined {
  const own = type.allowedFileExtensions;
  const allowed = alone ? [...own, ...ARCHIVE_EXTENSIONS] : own;
  if (own.length === 0 || hasExtension(name, allowed)) return undefined;
  const archive = hasExtension(name, ARCHIVE_EXTENSIONS) ? '; an archive must be the only data file' : '';
  return `${quote(name)} has the wrong extension; ${typeKey(type)} allows ${allowed.join(', ')}${archive}`;
}

function hasExtension(name: string, extensions: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return extensions.some((extension) => lower.endsWith(extension.toLowerCase()));
}
