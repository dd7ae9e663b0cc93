// The statement for related datasets: same project or program of the same owner, or a common publication.

import { type DatasetId, parseUserId, type UserId } from '../../model/ids.ts';
import type { DatasetMetadata } from '../../model/metadata.ts';
import type { RelatedDataset } from '../../ports/dataset-queries.ts';
import { indexedPublications, indexedText, MAX_INDEXED_BYTES } from '../catalog/dataset-document.ts';
import { SqlParameters } from '../postgres/sql-parameters.ts';

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
  // Documents of compatible systems may name anybody.
  const owner = parameters.add(parseUserId(metadata.owner) ?? null, 'numeric');
  const program = parameters.add(indexedText(metadata.programName), 'text');
  const project = parameters.add(indexedText(metadata.projectName), 'text');
  const publications = indexedPublications(metadata);
  const types = parameters.add(publications.types, 'text[]');
  const identifiers = parameters.add(publications.identifiers, 'text[]');
  const shown = `d.state = 'live' and d.dataset_id <> ${self}
      and d.root_id is distinct from (select own.root_id from dataset own where own.dataset_id = ${self})
      and (d.owner_id = ${sees} or d.visibility <> 'private' or d.dataset_id in (
        select s.dataset_id from dataset_share s
        where s.recipient_id = ${sees} and s.offer = 'grant' and s.receipt = 'accept'))`;
  const indexed = (column: string): string => `octet_length(d.${column}) <= ${MAX_INDEXED_BYTES}`;
  // Each branch reads its newest relatives from an index and stops at the limit; those with a publication are in the order of
  // ids. `offset 0` makes PostgreSQL look datasets up one by one. Otherwise, it would read all of them first.
  const text = `
    select d.dataset_id, d.type_name, d.type_version, d.name, d.metadata ->> 'summary' as summary,
      coalesce(d.metadata ->> 'created', '') as created, r.relation, r.identifier, r.publication_type
    from (
      select * from (
        (select d.dataset_id, d.created, 'program-name' as relation, d.program_name as identifier, null as publication_type
          from dataset d where d.owner_id = ${owner} and d.program_name = ${program} and ${indexed('program_name')} and ${shown}
          order by d.created desc, d.dataset_id limit ${MAX_RELATED})
        union all
        (select d.dataset_id, d.created, 'project-name', d.project_name, null
          from dataset d where d.owner_id = ${owner} and d.project_name = ${project} and ${indexed('project_name')} and ${shown}
          order by d.created desc, d.dataset_id limit ${MAX_RELATED})
        union all
        select of_key.* from (select distinct * from unnest(${types}, ${identifiers})) k (type, identifier)
          cross join lateral (
            select d.dataset_id, d.created, 'publication', p.identifier, p.type
            from dataset_publication p
            cross join lateral (select * from dataset one where one.dataset_id = p.dataset_id offset 0) d
            where p.type = k.type and p.identifier = k.identifier and ${shown}
            order by p.dataset_id desc limit ${MAX_RELATED}) of_key
      ) found order by created desc, dataset_id, relation, publication_type, identifier limit ${MAX_RELATED}
    ) r cross join lateral (select * from dataset one where one.dataset_id = r.dataset_id offset 0) d
    order by r.created desc, r.dataset_id, r.relation, r.publication_type, r.identifier`;
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
