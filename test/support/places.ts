// Where an installation keeps what it says about a dataset, as far as tests look: `longshore up` in its directory; other
// installations say so themselves.

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { parse } from 'yaml';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { queryTarget } from './sites.ts';

export const SITES = ['AlphaDB', 'BetaDB'] as const;
export type Site = (typeof SITES)[number];

export interface Places {
  /** The cache database, with its schema in the search path. */
  withCache<Result>(work: (cache: pg.Client) => Promise<Result>): Promise<Result>;
  /** Rows of a query in a site's schema. */
  queryTarget<Row extends object>(
    site: Site,
    which: 'dataDb' | 'controlDb',
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]>;
  /** Names of objects below the dataset's prefix, in order. */
  keysOf(owner: string, dataset: string): Promise<readonly string[]>;
  /** Bytes of all objects of the owner. */
  bytesOf(owner: string): Promise<number>;
  /** Files below the site's folder of the dataset, in order. */
  filesOf(site: Site, dataset: string): Promise<readonly string[]>;
}

export function placesOfUp(dir: string): Places {
  return {
    withCache: (work) => withCache(dir, work),
    queryTarget: (...query) => queryTarget(dir, ...query),
    keysOf: (owner, dataset) => filesBelow(join(dir, 'objects', 'objects', owner, dataset)),
    bytesOf: (owner) => bytesBelow(join(dir, 'objects', 'objects', owner)),
    filesOf: (site, dataset) => filesBelow(join(dir, 'sites', site, dataset)),
  };
}

/** In order; none when there is no such folder. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export async function bytesBelow(folder: string): Promise<number> {
  const files = await filesBelow(folder);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The cache database of the installation, with its schema in the path. */
export async function withCache<Result>(dir: string, work: (cache: pg.Client) => Promise<Result>): Promise<Result> {
  const config = parse(await readFile(join(dir, 'config.yaml'), 'utf8')) as {
    installer: { cacheDb: { name: string; username: string; password: string } };
  };
  const { name, username, password } = config.installer.cacheDb;
  const cache = new pg.Client({
    host: '127.0.0.1',
    port: Number(await readFile(join(dir, 'postgres.port'), 'utf8')),
    user: username,
    password,
    database: name,
  });
  await cache.connect();
  try {
    await cache.query(`set search_path to ${pg.escapeIdentifier(CACHE_SCHEMA)}`);
    return await work(cache);
  } finally {
    await cache.end();
  }
}
