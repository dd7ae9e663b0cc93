// A small installation for the installer's tests: four targets of different categories, three data types.

import { DataTypes } from '../../../engine/model/data-types.ts';
import { targetId, type UserId } from '../../../engine/model/ids.ts';
import { type InstallTargetSettings, InstallTargets } from '../../../http/installer/install-targets.ts';
import type { CreateDetails } from '../../../http/installer/metadata/create-details.ts';

export const OWNER = '9007199254740993' as UserId;

export const SETTINGS: readonly InstallTargetSettings[] = [
  { id: targetId('PlainSite'), name: 'Plain site', enabled: true, category: 'other' },
  { id: targetId('GenomeSite'), name: 'Genome site', enabled: true, category: 'genomics' },
  { id: targetId('VectorSite'), name: 'Vector site', enabled: true, category: 'vector' },
  { id: targetId('MicrobeSite'), name: 'Microbe site', enabled: true, category: 'microbiome' },
  { id: targetId('ClinicSite'), name: 'Clinic site', enabled: true, category: 'clinical-epidemiology' },
  { id: targetId('ClosedSite'), name: 'Closed site', enabled: false, category: 'other' },
];

/** The usual ones, and those that the sample metadata names. */
export const INSTALL_TARGETS = [
  ...SETTINGS,
  ...['PlasmoSite', 'ToxoSite'].map((id) => ({
    id: targetId(id),
    name: `The ${id}`,
    enabled: true,
    category: 'other' as const,
  })),
];

const COMMON = { typeChangesEnabled: false, maxFileSize: 100_000, usesDataProperties: false, projectIds: [] };

/**
 * genelist: .txt and .csv up to 100,000 bytes, any target; rnaseq: uses property files; vectors: VectorSite only. The last
 * two may become another type.
 */
export function dataTypes(): DataTypes {
  return new DataTypes(
    [
      {
        ...COMMON,
        name: 'genelist',
        version: '1.0',
        category: 'Gene List',
        plugin: 'lists',
        allowedFileExtensions: ['.txt', '.csv'],
      },
      {
        ...COMMON,
        name: 'rnaseq',
        version: '1.0',
        category: 'RNA-Seq',
        plugin: 'rnaseq',
        allowedFileExtensions: [],
        usesDataProperties: true,
        typeChangesEnabled: true,
      },
      {
        ...COMMON,
        name: 'vectors',
        version: '2.0',
        category: 'Vectors',
        plugin: 'lists',
        allowedFileExtensions: [],
        projectIds: [targetId('VectorSite')],
        typeChangesEnabled: true,
      },
    ],
    SETTINGS.filter((target) => target.enabled).map(({ id }) => ({ id, dataTypes: 'any' as const })),
  );
}

export const installTargets = (): InstallTargets => new InstallTargets(SETTINGS);

/** The least that a create request may say. */
export function soundDetails(): CreateDetails {
  return {
    installTargets: ['PlainSite'],
    name: 'My genes',
    summary: 'Genes that I like',
    origin: 'direct-upload',
    dependencies: [],
    type: { name: 'genelist', version: '1.0' },
  };
}
