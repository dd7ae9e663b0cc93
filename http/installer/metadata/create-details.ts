// The `details` part of a create request as one schema: Ajv validates with it, the type comes from it, the API's documentation
// is printed from it. Every field and bound is that of docs/contract/installer.md#dataset-metadata; lengths count characters.
// Rules that look at more than one field are in details-rules.ts, those about the configuration in details-check.ts.

import type { Static, TSchema } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';

export const CLOSED = { additionalProperties: false } as const;

const text = (minLength: number, maxLength: number) => Type.String({ minLength, maxLength });
const unique = <Item extends TSchema>(items: Item) => Type.Array(items, { uniqueItems: true });
const terms = () => Type.Optional(unique(text(3, 128)));

export const Dependency = Type.Named(
  'Dependency',
  { resourceIdentifier: text(3, 50), resourceDisplayName: text(3, 100), resourceVersion: text(1, 50) },
  CLOSED,
);

export const PublicationInput = Type.Named(
  'PublicationInput',
  {
    identifier: text(3, 30),
    type: Type.Optional(Type.Enum(['pmid', 'doi'], { default: 'pmid' })),
    citation: Type.Optional(Type.String()),
    isPrimary: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);

export const ContactInput = Type.Named(
  'ContactInput',
  {
    firstName: Type.Optional(text(1, 300)),
    middleName: Type.Optional(text(1, 300)),
    lastName: Type.Optional(text(1, 300)),
    isPrimary: Type.Optional(Type.Boolean()),
    email: Type.Optional(text(5, 4000)),
    affiliation: Type.Optional(Type.String({ maxLength: 4000 })),
    country: Type.Optional(Type.String({ maxLength: 200 })),
  },
  CLOSED,
);

export const LinkedDataset = Type.Named(
  'LinkedDataset',
  { datasetUri: Type.String(), sharesRecords: Type.Boolean() },
  CLOSED,
);

export const Organism = Type.Named('Organism', { species: Type.String(), strain: Type.String() }, CLOSED);

const year = () => Type.Integer({ minimum: 1500, maximum: 2500 });

export const Characteristics = Type.Named(
  'Characteristics',
  {
    studyDesign: Type.Optional(Type.String()),
    studyType: Type.Optional(Type.String()),
    countries: terms(),
    years: Type.Optional(Type.Object({ start: year(), end: year() }, CLOSED)),
    studySpecies: terms(),
    outcomes: terms(),
    associatedFactors: terms(),
    participantAges: Type.Optional(text(1, 128)),
    sampleTypes: terms(),
  },
  CLOSED,
);

const Doi = Type.Named('Doi', { doi: text(6, 128), description: Type.Optional(Type.String()) }, CLOSED);
const Hyperlink = Type.Named(
  'Hyperlink',
  { url: text(7, 200), description: Type.Optional(Type.String({ maxLength: 4000 })) },
  CLOSED,
);
const BioprojectId = Type.Named('BioprojectId', { id: text(4, 64), description: Type.Optional(Type.String()) }, CLOSED);

export const ExternalIdentifiers = Type.Named(
  'ExternalIdentifiers',
  {
    dois: Type.Optional(unique(Doi)),
    hyperlinks: Type.Optional(unique(Hyperlink)),
    bioprojectIds: Type.Optional(unique(BioprojectId)),
  },
  CLOSED,
);

export const Funding = Type.Named('Funding', { agency: text(3, 256), awardNumber: text(3, 64) }, CLOSED);

export const DatasetSource = Type.Named(
  'DatasetSource',
  { url: Type.String({ minLength: 10 }), version: text(1, 128) },
  CLOSED,
);

const DatasetTypeInput = Type.Named('DatasetTypeInput', { name: text(3, 128), version: text(1, 32) }, CLOSED);

export const VISIBILITIES = ['private', 'protected', 'public', 'controlled'] as const;

export const InstallTargetId = text(5, 32);

/** In answers as in requests. */
export const DAYS_FOR_APPROVAL = { minimum: -1, maximum: 365 } as const;

/** `studyCharacteristics` (1.7.0) is renamed to `datasetCharacteristics` before this is applied. */
export const CreateDetails = Type.Named(
  'NewDataset',
  {
    installTargets: Type.Array(InstallTargetId, { uniqueItems: true, minItems: 1 }),
    name: text(3, 1024),
    summary: text(3, 4000),
    description: Type.Optional(Type.String()),
    origin: text(3, 256),
    dependencies: Type.Optional(
      Type.Array(Dependency, {
        uniqueItems: true,
        description: 'Absent or null means an empty list, here and for every other list that may be empty',
      }),
    ),
    publications: Type.Optional(unique(PublicationInput)),
    contacts: Type.Optional(unique(ContactInput)),
    projectName: Type.Optional(text(1, 256)),
    programName: Type.Optional(text(1, 256)),
    linkedDatasets: Type.Optional(unique(LinkedDataset)),
    experimentalOrganism: Type.Optional(Organism),
    hostOrganism: Type.Optional(Organism),
    datasetCharacteristics: Type.Optional(Characteristics),
    externalIdentifiers: Type.Optional(ExternalIdentifiers),
    funding: Type.Optional(unique(Funding)),
    shortAttribution: Type.Optional(text(3, 40)),
    daysForApproval: Type.Optional(Type.Integer({ ...DAYS_FOR_APPROVAL, default: -1 })),
    dataDisclaimer: Type.Optional(Type.String()),
    datasetSources: Type.Optional(unique(DatasetSource)),
    type: DatasetTypeInput,
    visibility: Type.Optional(Type.Enum([...VISIBILITIES], { default: 'private' })),
  },
  CLOSED,
);
export type CreateDetails = Static<typeof CreateDetails>;
