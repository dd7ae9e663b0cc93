// Which install targets share a data schema: their plugins write to one schema of one database, so a dataset's rows are
// there once for all of them (actors/dataset/shared-data.ts).

import type { TargetId } from '../engine/model/ids.ts';
import type { InstallTargetConfiguration } from './configuration.ts';

export interface SharedDataSchema {
  readonly targets: readonly TargetId[];
  readonly schema: string;
  /** As the file names it: `host:port/name`, or the entry of the directory. */
  readonly database: string;
}

type Located = Pick<InstallTargetConfiguration, 'targetId' | 'dataDb'>;

/**
 * The same text for targets that share. Databases are compared as the file names them: one that is named by its address
 * here and by its directory entry there counts as two. Names of hosts and of directory entries are the same in any case.
 */
export const dataSchemaOf = (target: Pick<Located, 'dataDb'>): string =>
  `${target.dataDb.kind} ${databaseOf(target)} ${target.dataDb.schema}`;

/** Those of two targets and more, in the order of the file. */
export function sharedDataSchemas(targets: readonly Located[]): readonly SharedDataSchema[] {
  return [...Map.groupBy(targets, dataSchemaOf).values()].flatMap((group) => {
    const [first] = group;
    if (!first || group.length < 2) return [];
    const { schema } = first.dataDb;
    return [{ targets: group.map(({ targetId }) => targetId), schema, database: databaseOf(first) }];
  });
}

function databaseOf({ dataDb }: Pick<Located, 'dataDb'>): string {
  if (dataDb.kind === 'lookup') return dataDb.lookupCn.toLowerCase();
  const { host, port } = dataDb.server;
  return `${host.toLowerCase()}:${port}/${dataDb.name}`;
}
