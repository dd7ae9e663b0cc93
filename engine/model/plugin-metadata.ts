// The metadata document that plugins get. Deployed plugin servers reject unknown fields, and read at most 16 KiB of some parts.
// So only fields that they know are sent, without white space.

import { stringifyJson } from './json.ts';
import { type DatasetMetadata, metadataDocument } from './metadata.ts';

/** A value, or the fields of an object. For a list, the fields of each item. */
type Fields = 'value' | { readonly [field: string]: Fields };

const value = 'value';
const organism: Fields = { species: value, strain: value };
const described = (field: string): Fields => ({ [field]: value, description: value });

/**
 * What deployed plugin servers know (`test/compatibility/plugins/strict-server.ts`). Fields that Longshore added do not belong
 * here.
 */
const KNOWN: Fields = {
  type: { name: value, version: value },
  installTargets: value,
  visibility: value,
  owner: value,
  name: value,
  summary: value,
  description: value,
  origin: value,
  created: value,
  sourceUrl: value,
  dependencies: { resourceIdentifier: value, resourceDisplayName: value, resourceVersion: value },
  publications: { identifier: value, type: value, citation: value, isPrimary: value },
  contacts: {
    firstName: value,
    middleName: value,
    lastName: value,
    email: value,
    affiliation: value,
    country: value,
    isPrimary: value,
  },
  shortAttribution: value,
  projectName: value,
  programName: value,
  linkedDatasets: { datasetUri: value, sharesRecords: value },
  experimentalOrganism: organism,
  hostOrganism: organism,
  datasetCharacteristics: {
    studyDesign: value,
    studyType: value,
    countries: value,
    years: { start: value, end: value },
    studySpecies: value,
    outcomes: value,
    associatedFactors: value,
    participantAges: value,
    sampleTypes: value,
  },
  externalIdentifiers: { dois: described('doi'), hyperlinks: described('url'), bioprojectIds: described('id') },
  funding: { agency: value, awardNumber: value },
  revisionHistory: {
    originalId: value,
    revisionHistory: { action: value, timestamp: value, revisionId: value, revisionNote: value },
  },
  daysForApproval: value,
  dataDisclaimer: value,
  datasetSources: { url: value, version: value },
};

export const pluginMetadata = (metadata: DatasetMetadata): string =>
  stringifyJson(known(metadataDocument(metadata), KNOWN));

function known(document: unknown, fields: Fields): unknown {
  if (fields === value || typeof document !== 'object' || document === null) return document;
  if (Array.isArray(document)) return document.map((item) => known(item, fields));
  // A field without a value is omitted, because deployed servers do not accept null.
  const entries = Object.entries(document).filter(([name, of]) => Object.hasOwn(fields, name) && of !== null);
  return Object.fromEntries(entries.map(([name, of]) => [name, known(of, fields[name] ?? value)]));
}
