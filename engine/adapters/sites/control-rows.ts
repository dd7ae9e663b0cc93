// A dataset's metadata as rows of the control schema: which table contains which part, in the owner's order.

import { type DatasetMetadata, shortName } from '../../model/metadata.ts';
import { type SqlType, storableText } from '../postgres/sql-parameters.ts';

type Cell = string | number | boolean | undefined;
type ArrayType = Extract<SqlType, `${string}[]`>;

/** All rows of one table for one dataset. */
export interface ControlRows {
  readonly table: string;
  /** With `dataset_id` the primary key; undefined when the table has one row at most. */
  readonly key: string | undefined;
  /** Without `dataset_id`. */
  readonly columns: Readonly<Record<string, ArrayType>>;
  /** Values in the order of the columns; text is made storable. */
  readonly rows: readonly (readonly (string | number | boolean | null)[])[];
}

/** Every child table of the metadata, including those without rows. */
export function controlRows(metadata: DatasetMetadata): readonly ControlRows[] {
  const characteristics = metadata.datasetCharacteristics;
  const identifiers = metadata.externalIdentifiers;
  const words = (table: string, column: string, list: readonly string[] | undefined): ControlRows =>
    listed(
      table,
      { [column]: 'text[]' },
      (list ?? []).map((word) => [word]),
    );
  return [
    keyed(
      'dataset_meta',
      undefined,
      {
        name: 'text[]',
        short_name: 'text[]',
        summary: 'text[]',
        description: 'text[]',
        program_name: 'text[]',
        project_name: 'text[]',
        short_attribution: 'text[]',
        disclaimer: 'text[]',
      },
      [
        [
          metadata.name,
          shortName(metadata),
          metadata.summary,
          metadata.description,
          metadata.programName,
          metadata.projectName,
          metadata.shortAttribution,
          metadata.dataDisclaimer,
        ],
      ],
    ),
    keyed(
      'dataset_characteristics',
      undefined,
      {
        study_design: 'text[]',
        study_type: 'text[]',
        participant_ages: 'text[]',
        sample_year_start: 'integer[]',
        sample_year_end: 'integer[]',
      },
      characteristics
        ? [
            [
              characteristics.studyDesign,
              characteristics.studyType,
              characteristics.participantAges,
              characteristics.years?.start,
              characteristics.years?.end,
            ],
          ]
        : [],
    ),
    keyed('dataset_organism', 'organism_type', { organism_type: 'text[]', species: 'text[]', strain: 'text[]' }, [
      ...organism('experimental', metadata.experimentalOrganism),
      ...organism('host', metadata.hostOrganism),
    ]),
    listed(
      'dataset_dependency',
      { identifier: 'text[]', display_name: 'text[]', version: 'text[]' },
      metadata.dependencies.map((one) => [one.resourceIdentifier, one.resourceDisplayName, one.resourceVersion]),
    ),
    listed(
      'dataset_publication',
      { external_id: 'text[]', type: 'text[]', citation: 'text[]', is_primary: 'boolean[]' },
      (metadata.publications ?? []).map((one) => [
        one.identifier,
        one.type === 'doi' ? 'doi' : 'pmid',
        one.citation,
        one.isPrimary ?? false,
      ]),
    ),
    listed(
      'dataset_contact',
      {
        is_primary: 'boolean[]',
        first_name: 'text[]',
        middle_name: 'text[]',
        last_name: 'text[]',
        email: 'text[]',
        affiliation: 'text[]',
        country: 'text[]',
      },
      (metadata.contacts ?? []).map((one) => [
        one.isPrimary ?? false,
        one.firstName,
        one.middleName,
        one.lastName,
        one.email,
        one.affiliation,
        one.country,
      ]),
    ),
    listed(
      'dataset_funding_award',
      { agency: 'text[]', award_number: 'text[]' },
      (metadata.funding ?? []).map((one) => [one.agency, one.awardNumber]),
    ),
    words('dataset_country', 'country', characteristics?.countries),
    words('dataset_species', 'species', characteristics?.studySpecies),
    words('dataset_outcome', 'outcome', characteristics?.outcomes),
    words('dataset_associated_factor', 'associated_factor', characteristics?.associatedFactors),
    words('dataset_sample_type', 'sample_type', characteristics?.sampleTypes),
    listed(
      'dataset_doi',
      { doi: 'text[]', description: 'text[]' },
      (identifiers?.dois ?? []).map((one) => [one.doi, one.description]),
    ),
    listed(
      'dataset_hyperlink',
      { url: 'text[]', description: 'text[]' },
      (identifiers?.hyperlinks ?? []).map((one) => [one.url, one.description]),
    ),
    listed(
      'dataset_bioproject_id',
      { bioproject_id: 'text[]', description: 'text[]' },
      (identifiers?.bioprojectIds ?? []).map((one) => [one.id, one.description]),
    ),
    listed(
      'dataset_link',
      { uri: 'text[]', shares_records: 'boolean[]' },
      (metadata.linkedDatasets ?? []).map((one) => [one.datasetUri, one.sharesRecords]),
    ),
    listed(
      'dataset_source',
      { url: 'text[]', version: 'text[]' },
      (metadata.datasetSources ?? []).map((one) => [one.url, one.version]),
    ),
  ];
}

/** A table without a position column. */
function keyed(
  table: string,
  key: string | undefined,
  columns: Record<string, ArrayType>,
  rows: readonly (readonly Cell[])[],
): ControlRows {
  return { table, key, columns, rows: rows.map((row) => row.map(storable)) };
}

function listed(table: string, columns: Record<string, ArrayType>, rows: readonly (readonly Cell[])[]): ControlRows {
  return {
    table,
    key: 'position',
    columns: { position: 'integer[]', ...columns },
    rows: rows.map((row, index) => [index, ...row.map(storable)]),
  };
}

function organism(type: string, of: { readonly species: string; readonly strain: string } | undefined): Cell[][] {
  return of ? [[type, of.species, of.strain]] : [];
}

function storable(cell: Cell): string | number | boolean | null {
  return typeof cell === 'string' ? storableText(cell) : (cell ?? null);
}
