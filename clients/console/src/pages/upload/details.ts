// What the form says, as the API takes it. A field is named by its path in the details, as the server's faults name it.

import type { NewDataset } from '../../../../typescript/src/index.ts';
import type { components } from '../../../../typescript/src/installer.ts';
import { type Faults, faultsElsewhere } from '../../components/faults.ts';
import { texts } from '../../texts.ts';

export type Values = Readonly<Record<string, string>>;
export type FieldPath = keyof typeof texts.upload.fields;
export type Plugin = components['schemas']['Plugin'];
export type DataType = Plugin['dataTypes'][number];
export type Target = components['schemas']['ServiceMeta']['configuration']['installTargets'][number];

export const SECTIONS: Readonly<Record<keyof typeof texts.upload.sections, readonly FieldPath[]>> = {
  about: ['name', 'summary', 'origin', 'description'],
  study: [
    ...(['projectName', 'programName', 'experimentalOrganism.species', 'experimentalOrganism.strain'] as const),
    ...(['datasetCharacteristics.studyDesign', 'datasetCharacteristics.studyType'] as const),
  ],
  contact: [
    ...(['contacts[0].firstName', 'contacts[0].lastName', 'contacts[0].email'] as const),
    ...(['contacts[0].affiliation', 'contacts[0].country'] as const),
  ],
  publication: ['publications[0].identifier', 'publications[0].citation'],
};

/** The types of the plugins, each once, by name and version. */
export function typesOf(plugins: readonly Plugin[]): ReadonlyMap<string, DataType> {
  const types = plugins.flatMap(({ dataTypes }) => dataTypes);
  return new Map(types.map((type) => [`${type.name}@${type.version}`, type]));
}

/** Install targets of the type; undefined for all. */
export function targetsOf(plugins: readonly Plugin[], type: string): ReadonlySet<string> | undefined {
  const having = plugins.filter(({ dataTypes }) =>
    dataTypes.some(({ name, version }) => `${name}@${version}` === type),
  );
  if (having.some(({ installTargets = [] }) => installTargets.length === 0)) return undefined;
  return new Set(having.flatMap(({ installTargets = [] }) => installTargets));
}

export const chosenTargets = (values: Values): readonly string[] =>
  (values.installTargets ?? '').split(' ').filter(Boolean);

const CONTACT = SECTIONS.contact;
const ORGANISM: readonly FieldPath[] = ['experimentalOrganism.species', 'experimentalOrganism.strain'];
/** The fields of the form that stand for one of the API. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  experimentalOrganism: ORGANISM,
  contacts: CONTACT,
  publications: ['publications[0].identifier'],
};

/** What has to be filled in: always, by the chosen sites, and where the half of something is given. */
export function requiredOf(values: Values, targets: readonly Target[]): ReadonlySet<string> {
  const given = (path: string): boolean => (values[path]?.trim() ?? '') !== '';
  const ids = chosenTargets(values);
  const bySites = targets.filter(({ id }) => ids.includes(id)).flatMap(({ requiredFields = [] }) => requiredFields);
  return new Set([
    ...['type', 'installTargets', 'name', 'summary', 'origin'],
    ...bySites.flatMap((path) => PARTS[path] ?? [path]),
    ...[CONTACT, ORGANISM].filter((group) => group.some(given)).flat(),
    ...(given('publications[0].citation') ? ['publications[0].identifier'] : []),
  ]);
}

/** Of those that the form has. */
export const missingOf = (values: Values, required: ReadonlySet<string>): Faults =>
  Object.fromEntries(
    SHOWN.filter((path) => required.has(path) && !values[path]?.trim()).map((path) => [path, [texts.upload.missing]]),
  );

/** Whether the type takes a file of this name. @param alone it is the only one, so it may be an archive */
export function takes(type: DataType, name: string, alone: boolean, archives: readonly string[]): boolean {
  const own = type.allowedFileExtensions;
  const allowed = alone ? [...own, ...archives] : own;
  return own.length === 0 || allowed.some((extension) => name.toLowerCase().endsWith(extension.toLowerCase()));
}

/** Empty fields are left out. */
export function detailsOf(values: Values): NewDataset {
  const [name = '', version = ''] = (values.type ?? '').split('@');
  const details: Record<string, unknown> = {
    ...(values.type ? { type: { name, version } } : {}),
    installTargets: chosenTargets(values),
    visibility: values.visibility || 'private',
  };
  for (const path of Object.values(SECTIONS).flat()) {
    const text = values[path]?.trim();
    if (text) put(details, path.split(/[.[\]]+/), text);
  }
  for (const list of ['contacts', 'publications']) {
    const first = (details[list] as Record<string, unknown>[] | undefined)?.[0];
    if (first) first.isPrimary = true;
  }
  return details as unknown as NewDataset;
}

function put(into: Record<string, unknown>, [step = '', ...rest]: readonly string[], text: string): void {
  if (rest.length === 0) {
    into[step] = text;
    return;
  }
  into[step] ??= /^\d+$/.test(rest[0] ?? '') ? [] : {};
  put(into[step] as Record<string, unknown>, rest, text);
}

const SHOWN = [...Object.values(SECTIONS).flat(), 'type', 'installTargets', 'visibility', 'dataFile', 'url'];
const FILES = ['dataPropertiesFile', 'docFile', 'uploadIds'];

/** Those of fields that the form does not have. */
export const otherFaults = (faults: Faults): readonly string[] => faultsElsewhere(faults, [...SHOWN, ...FILES]);
