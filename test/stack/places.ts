// Where an installation on the whole stack keeps what it says about a dataset.

import { join } from 'node:path';
import pg from 'pg';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { filesBelow, type Places } from '../support/places.ts';
import type { Installation } from './installation.ts';
import type { AnnouncingStore } from './object-changes.ts';

const SCHEMAS = {
  AlphaDB: { dataDb: 'alpha_data', controlDb: 'alpha_control' },
  BetaDB: { dataDb: 'beta_data', controlDb: 'beta_control' },
} as const;

export function placesOf(at: Installation<AnnouncingStore>): Places {
  return {
    withCache: (work) => connected(at.cache, CACHE_SCHEMA, work),
    queryTarget: (site, which, text, values) =>
      connected(at.sites[site], SCHEMAS[site][which], async (client) => (await client.query(text, [...values])).rows),
    async keysOf(owner, dataset) {
      const prefix = `${owner}/${dataset}/`;
      const listed = (await at.store.client().listObjectsV2(at.bucket, prefix, true).toArray()) as { name: string }[];
      return listed.map(({ name }) => name.slice(prefix.length)).sort();
    },
    async bytesOf(owner) {
      const listed = at.store.client().listObjectsV2(at.bucket, `${owner}/`, true);
      return ((await listed.toArray()) as { size: number }[]).reduce((sum, { size }) => sum + size, 0);
    },
    filesOf: (site, dataset) => filesBelow(join(at.dir, 'installed', 'build-68', site, dataset)),
  };
}

async function connected<Result>(
  at: pg.ClientConfig,
  schema: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(at);
  await client.connect();
  try {
    await client.query(`set search_path to ${pg.escapeIdentifier(schema)}`);
    return await work(client);
  } finally {
    await client.end();
  }
}
