// The statement for related datasets: same project or program of the same owner, or a common publication.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { DatasetMetadata } from '../../model/metadata.ts';
import type { RelatedDataset } from '../../ports/dataset-queries.ts';
import { SqlParameters, storableText } from '../postgres/sql-parameters.ts';

const MAX_RELATED = 1_000;

export interface RelatedRow {
  readonly dataset_id: DatasetId;
  readonly type_name: string;
  readonly type_version: string;
  readonly name: string;
  readonly summary: string | null;
  readonly created: string;
  readonly relation: 'program-name' | 'project-name' | 'publication';
  readonly identifier: string;
  readonly publication_type: 'pmid' | 'doi' | null;
}

/** Most datasets have no attribute that another could share. */
export const mayHaveRelatives = ({ programName, projectName, publications = [] }: DatasetMetadata): boolean =>
  programName !== undefined || projectName !== undefined || publications.length > 0;

/**
 * The same text for all viewers. Every branch shows only what the viewer may see: someone who reads one public dataset of a
 * project must not learn the names of the private ones. Revisions of the same dataset are not related datasets.
 */
export function relatedStatement(
  dataset: DatasetId,
  metadata: DatasetMetadata,
  viewer: UserId,
): { readonly text: string; readonly values: readonly unknown[] } {
  const parameters = new SqlParameters();
  const self = parameters.add(dataset, 'text');
  const sees = parameters.add(viewer, 'numeric');
  const owner = parameters.add(metadata.owner, 'numeric');
  const program = parameters.add(storable(metadata.programName), 'text');
  const project = parameters.add(storable(metadata.projectName), 'text');
  const publications = metadata.publications ?? [];
  const types = parameters.add(
    publications.map((publication) => publication.type),
    'text[]',
  );
  const identifiers = parameters.add(
    publications.map((publication) => storableText(publication.identifier)),
    'text[]',
  );
  const text = `
    select d.dataset_id, d.type_name, d.type_version, d.name, d.metadata ->> 'summary' as summary,
      coalesce(d.metadata ->> 'created', '') as created, r.relation, r.identifier, r.publication_type
    from (
      select d.dataset_id, 'program-name' as relation, d.program_name as identifier, null as publication_type
        from dataset d where d.owner_id = ${owner} and d.program_name = ${program}
      union all
      select d.dataset_id, 'project-name', d.project_name, null
        from dataset d where d.owner_id = ${owner} and d.project_name = ${project}
      union all
      select p.dataset_id, 'publication', p.identifier, p.type
        from dataset_publication p join (select distinct * from unnest(${types}, ${identifiers})) k (type, identifier)
          on p.type = k.type and p.identifier = k.identifier
    ) r join dataset d on d.dataset_id = r.dataset_id
    where d.state = 'live' and d.dataset_id <> ${self}
      and not exists (select from dataset own where own.dataset_id = ${self} and own.root_id = d.root_id)
      and (d.owner_id = ${sees} or d.visibility <> 'private' or exists (
        select from dataset_share s where s.dataset_id = d.dataset_id and s.recipient_id = ${sees}
          and s.offer = 'grant' and s.receipt = 'accept'))
    order by d.created desc, d.dataset_id, r.relation, r.publication_type, r.identifier limit ${MAX_RELATED}`;
  return { text, values: parameters.values };
}

export function relatedDataset(row: RelatedRow): RelatedDataset {
  const relation =
    row.relation === 'publication'
      ? { by: row.relation, identifier: row.identifier, type: row.publication_type ?? 'pmid' }
      : { by: row.relation, identifier: row.identifier };
  return {
    dataset: row.dataset_id,
    type: { name: row.type_name, version: row.type_version },
    name: row.name,
    summary: row.summary ?? '',
    created: row.created,
    relation,
  };
}

const storable = (text: string | undefined): string | null => (text === undefined ? null : storableText(text));
