// GET /datasets/{id} (docs/contract/installer.md#dataset-details), in both interface versions.

import type { Static } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';
import {
  DatasetTypeOutput,
  Datetime,
  InstallTargetIds,
  StatusBlock,
  VdiId,
  VisibilityOutput,
} from './dataset-terms.ts';
import {
  Characteristics,
  ContactInput,
  DAYS_FOR_APPROVAL,
  DatasetSource,
  Dependency,
  ExternalIdentifiers,
  Funding,
  LinkedDataset,
  Organism,
  PublicationInput,
} from './details.ts';
import { FileListing, OldFileListing } from './file-listing.ts';
import { Owner, ShareDetails } from './people.ts';

const RevisionOutput = Type.Object({
  action: Type.Enum(['create', 'extend', 'revise']),
  timestamp: Datetime,
  revisionId: VdiId,
  revisionNote: Type.String(),
  fileListUrl: Type.String(),
});

export const RevisionHistory = Type.Object({
  originalId: VdiId,
  revisions: Type.Array(RevisionOutput, { minItems: 1 }),
});
export type RevisionHistory = Static<typeof RevisionHistory>;

export const RelatedDatasetOutput = Type.Object({
  datasetId: VdiId,
  type: DatasetTypeOutput,
  name: Type.String(),
  summary: Type.String(),
  created: Datetime,
  relatedBy: Type.Object({
    relationType: Type.Enum(['publication', 'program-name', 'project-name']),
    identifier: Type.String(),
    type: Type.Enum(['pmid', 'doi', 'program-name', 'project-name'], {
      description: "A publication's own type; of other relations their name",
    }),
  }),
});
export type RelatedDatasetOutput = Static<typeof RelatedDatasetOutput>;

/** Members that both versions have under the same name. */
const common = {
  datasetId: VdiId,
  owner: Owner,
  type: DatasetTypeOutput,
  visibility: VisibilityOutput,
  installTargets: InstallTargetIds,
  name: Type.String(),
  shortName: Type.String(),
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  origin: Type.String(),
  created: Datetime,
  sourceUrl: Type.Optional(Type.String()),
  dependencies: Type.Array(Dependency),
  publications: Type.Optional(Type.Array(PublicationInput)),
  contacts: Type.Optional(Type.Array(ContactInput)),
  projectName: Type.Optional(Type.String()),
  programName: Type.Optional(Type.String()),
  linkedDatasets: Type.Optional(Type.Array(LinkedDataset)),
  experimentalOrganism: Type.Optional(Organism),
  hostOrganism: Type.Optional(Organism),
  externalIdentifiers: Type.Optional(ExternalIdentifiers),
  funding: Type.Optional(Type.Array(Funding)),
  shortAttribution: Type.Optional(Type.String()),
  revisionHistory: RevisionHistory,
  relatedDatasets: Type.Array(RelatedDatasetOutput),
  /** For the owner only. */
  shares: Type.Optional(Type.Array(ShareDetails)),
  status: StatusBlock,
};

export const DatasetDetails = Type.Object({
  ...common,
  datasetCharacteristics: Type.Optional(Characteristics),
  daysForApproval: Type.Integer(DAYS_FOR_APPROVAL),
  dataDisclaimer: Type.Optional(Type.String()),
  datasetSources: Type.Optional(Type.Array(DatasetSource)),
  files: FileListing,
});
export type DatasetDetails = Static<typeof DatasetDetails>;

export const OldDatasetDetails = Type.Object({
  ...common,
  studyCharacteristics: Type.Optional(Characteristics),
  files: OldFileListing,
});
export type OldDatasetDetails = Static<typeof OldDatasetDetails>;

/** What is answered, whichever version is asked for. */
export const AnyDatasetDetails = Type.Union([DatasetDetails, OldDatasetDetails]);
