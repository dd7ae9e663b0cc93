// Datasets as the reports for administrators show them.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import { isDeleted } from '../../../engine/model/status.ts';
import type { DatasetRecord, ObjectVersion } from '../../../engine/ports/catalog.ts';
import type { DatasetFiles } from '../../../engine/ports/dataset-queries.ts';
import type { FailedImport, ReportedDataset } from '../../../engine/ports/dataset-reports.ts';
import type { AllDatasetsEntry, BrokenImport, BrokenInstall, InternalDetails } from '../schema/admin-report.ts';
import { statusBlock } from './status-block.ts';
import { typeView, visibilityView } from './terms.ts';

/** What nothing is in step with yet: the contract wants a time. */
const NEVER = new Date(0);

export function allDatasetsEntry(
  dataset: DatasetRecord,
  dataTypes: DataTypes,
  versionNamed: boolean,
): AllDatasetsEntry {
  const { metadata } = dataset;
  const { description, programName, projectName } = metadata;
  return {
    ...brokenInstall(dataset, dataTypes, versionNamed),
    visibility: visibilityView(metadata),
    name: metadata.name,
    origin: metadata.origin,
    created: metadata.created,
    isDeleted: isDeleted(dataset.state),
    summary: metadata.summary,
    ...(description === undefined ? {} : { description }),
    ...(programName === undefined ? {} : { programName }),
    ...(projectName === undefined ? {} : { projectName }),
  };
}

export function internalDetails(
  dataset: ReportedDataset,
  files: Pick<DatasetFiles, 'upload' | 'install'>,
  dataTypes: DataTypes,
): InternalDetails {
  const { metadata, sync } = dataset;
  const { description } = metadata;
  return {
    datasetType: typeView(metadata.type, dataTypes),
    owner: dataset.owner,
    isDeleted: isDeleted(dataset.state),
    origin: metadata.origin,
    created: metadata.created,
    inserted: dataset.inserted.toISOString(),
    name: metadata.name,
    installTargets: targetsOf(dataset),
    status: dataset.import?.status ?? 'queued',
    importMessages: [...(dataset.import?.messages ?? [])],
    visibility: visibilityView(metadata),
    summary: metadata.summary,
    ...(description === undefined ? {} : { description }),
    syncControl: {
      sharesUpdateTime: timeOf(sync.shares),
      dataUpdateTime: timeOf(sync.data),
      metaUpdateTime: timeOf(sync.meta),
    },
    uploadFiles: files.upload.map(({ name }) => name),
    installFiles: files.install.map(({ name }) => name),
  };
}

export const brokenImport = (failed: FailedImport, dataTypes: DataTypes): BrokenImport => ({
  datasetId: failed.dataset,
  owner: failed.owner,
  datasetType: typeView(failed.type, dataTypes),
  installTargets: [...failed.installTargets],
  messages: [...failed.messages],
});

export function brokenInstall(dataset: DatasetRecord, dataTypes: DataTypes, versionNamed: boolean): BrokenInstall {
  const installTargets = targetsOf(dataset);
  return {
    datasetId: dataset.dataset,
    owner: dataset.owner,
    datasetType: typeView(dataset.metadata.type, dataTypes),
    installTargets,
    status: statusBlock(dataset, installTargets, dataset.installs, versionNamed),
  };
}

const timeOf = (version: ObjectVersion | undefined): string => (version?.modified ?? NEVER).toISOString();

/** Documents of compatible systems may name a target twice. */
const targetsOf = ({ metadata }: DatasetRecord): DatasetRecord['metadata']['installTargets'][number][] => [
  ...new Set(metadata.installTargets),
];
