// Datasets for tests: fresh ids, so that tests may share a database, and metadata with few or with all fields.

import { randomBytes, randomInt } from 'node:crypto';
import { type DatasetId, newDatasetId, type TargetId, targetId, type UserId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';

export const PLASMO: TargetId = targetId('PlasmoSite');
export const TOXO: TargetId = targetId('ToxoSite');

/** Beyond 2^53, where a JavaScript number would lose digits. */
export const newUser = (): UserId => `8${randomInt(1e8, 1e9)}${randomInt(1e8, 1e9)}` as UserId;

export const newDataset = (): DatasetId =>
  newDatasetId(1_700_000_000_000, (bytes) => {
    bytes.set(randomBytes(bytes.length));
    return bytes;
  });

export const newAddress = (owner = newUser()): DatasetAddress => ({ owner, dataset: newDataset() });

export function metadataOf(owner: UserId, more: Partial<DatasetMetadata> = {}): DatasetMetadata {
  return {
    type: { name: 'genelist', version: '1.0' },
    installTargets: [PLASMO],
    visibility: 'private',
    owner,
    name: 'Genes of interest',
    summary: 'Some genes',
    origin: 'direct-upload',
    created: '2026-01-02T03:04:05.678Z',
    dependencies: [],
    daysForApproval: -1,
    ...more,
  };
}

/** Of a dataset whose revisions are these, in the order in which they were made. */
export function historyOf(
  ...revisions: readonly [DatasetId, ...DatasetId[]]
): NonNullable<DatasetMetadata['revisionHistory']> {
  const entry = { action: 'revise', timestamp: '2026-01-02T03:04:05.678Z', revisionNote: 'more' } as const;
  return { originalId: revisions[0], revisions: revisions.map((revisionId) => ({ ...entry, revisionId })) };
}

/** Every field there is. */
export function fullMetadataOf(owner: UserId, dataset: DatasetId): DatasetMetadata {
  return metadataOf(owner, {
    installTargets: [PLASMO, TOXO],
    visibility: 'protected',
    description: 'Größe λ 🧬 and "quotes"',
    sourceUrl: 'https://example.org/genes.txt',
    dependencies: [
      { resourceIdentifier: 'build-68', resourceDisplayName: 'Build', resourceVersion: '68' },
      { resourceIdentifier: 'annotation', resourceDisplayName: 'Annotation', resourceVersion: '2' },
    ],
    publications: [
      { identifier: '12345', type: 'pmid', citation: 'Doe 2020', isPrimary: true },
      { identifier: '10.1/x', type: 'doi', isPrimary: false },
    ],
    contacts: [
      { firstName: 'Jo', middleName: 'B', lastName: 'Doe', email: 'jo@x.org', affiliation: 'X', isPrimary: true },
      { country: 'Peru', isPrimary: false },
    ],
    shortAttribution: 'Doe et al.',
    projectName: 'Project P',
    programName: 'Program Q',
    linkedDatasets: [{ datasetUri: 'https://example.org/d', sharesRecords: true }],
    experimentalOrganism: { species: 'P. falciparum', strain: '3D7' },
    hostOrganism: { species: 'H. sapiens', strain: 'none' },
    datasetCharacteristics: {
      studyDesign: 'cohort',
      studyType: 'observational',
      countries: ['Peru', 'Kenya'],
      years: { start: 2001, end: 2005 },
      studySpecies: ['H. sapiens'],
      outcomes: ['malaria'],
      associatedFactors: ['age', 'sex'],
      participantAges: '1-5',
      sampleTypes: ['blood'],
    },
    externalIdentifiers: {
      dois: [{ doi: '10.1/abc', description: 'paper' }],
      hyperlinks: [{ url: 'https://x.org' }],
      bioprojectIds: [{ id: 'PRJNA1', description: 'reads' }],
    },
    funding: [{ agency: 'NIH', awardNumber: 'R01' }],
    revisionHistory: {
      originalId: dataset,
      revisions: [
        {
          action: 'create',
          timestamp: '2026-01-02T03:04:05.678Z',
          revisionId: dataset,
          revisionNote: 'Initial upload',
        },
      ],
    },
    daysForApproval: 30,
    dataDisclaimer: 'As is',
    datasetSources: [{ url: 'https://source.org', version: '7' }],
    firstPublished: '2026-02-02T00:00:00.000Z',
  });
}
