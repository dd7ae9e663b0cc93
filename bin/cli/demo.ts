// The demo: uploads a gene list, waits until it is installed, and prints where its files and rows are. The list is generated,
// or it is `genelist.txt` in the folder that LONGSHORE_DATA names.

import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Configuration } from '../../config/configuration.ts';
import { quoteIdentifier, type Sql } from '../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../engine/adapters/postgres/single-connection.ts';
import { Failure } from '../../engine/runtime/failure.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { DataDir } from '../compose/data-dir.ts';
import { openDirectory, type TargetConnection, targetConnection } from '../compose/databases.ts';
import { follow } from './client/follow.ts';
import { InstallerClient } from './client/installer-client.ts';
import type { CommandIo } from './command.ts';
import { localToken } from './local-token.ts';

const USER = '1';
const GENES = 5_000;

export async function runDemo(
  dir: DataDir,
  configuration: Configuration,
  server: string,
  io: CommandIo,
  signal: AbortSignal,
): Promise<void> {
  const targets = configuration.installer.installTargets;
  const token = await localToken(dir, { user: USER, guest: false, givenName: 'Demo', familyName: 'User' });
  const client = new InstallerClient({ server, token });
  const own = io.env.LONGSHORE_DATA;
  const file = own === undefined ? await sampleGenes(dir, signal) : join(own, 'genelist.txt');
  const details = {
    name: 'Sample gene list',
    summary: own === undefined ? `${GENES} generated gene ids` : `Gene ids of ${file}`,
    origin: 'direct-upload',
    dependencies: [],
    type: { name: 'genelist', version: '1.0' },
    installTargets: targets.map((target) => target.targetId),
  };
  io.err(`uploading ${file} to ${targets.map((target) => target.targetId).join(' and ')}\n`);
  const begun = systemClock.now();
  const id = await client.upload(details, { files: [file] }, signal);
  if (own === undefined) await rm(file, { force: true });
  const accepted = systemClock.now();
  const ending = await follow(client, id, {}, io, systemClock, signal);
  if (ending !== 'installed') throw new Failure('defect', `the sample dataset ended ${ending}`);
  const installed = systemClock.now();
  io.out(`dataset ${id}: accepted after ${accepted - begun} ms, installed ${installed - accepted} ms later\n`);
  const directory = await openDirectory(configuration.installer.ldap, silentLogger());
  for (const target of targets) {
    const folder = join(dir.path, configuration.installer.siteBuild, target.targetId, id);
    const files = (await readdir(folder)).sort();
    const rows = await rowsOf(id, await targetConnection(target.targetId, target.dataDb, directory, signal), signal);
    io.out(
      `${target.targetId}: files ${folder} (${files.join(', ')}), ${rows} rows in ${target.dataDb.schema}.genelist\n`,
    );
  }
}

async function rowsOf(dataset: string, at: TargetConnection, signal: AbortSignal): Promise<number> {
  const count = async (sql: Sql, schema: string, id: '$1' | '?'): Promise<number> => {
    const text = `select count(*) as count from ${schema}.genelist where dataset_id = ${id}`;
    return (await sql.query<{ count: number }>(text, [dataset]))[0]?.count ?? 0;
  };
  if (at.platform === 'Postgres')
    return withConnection(at, (sql) => count(sql, quoteIdentifier(at.schema), '$1'), signal);
  const { quoteName, withMariaDb } = await import('../../engine/adapters/mariadb/mariadb.ts');
  return withMariaDb(at, (sql) => count(sql, quoteName(at.schema), '?'), signal);
}

async function sampleGenes(dir: DataDir, signal: AbortSignal): Promise<string> {
  const folder = join(dir.path, 'demo');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'sample-genes.txt');
  const lines = function* (): Generator<string> {
    for (let i = 0; i < GENES; i++) yield `SAMPLE_${String(i).padStart(7, '0')}\n`;
  };
  await pipeline(Readable.from(lines()), createWriteStream(file), { signal });
  return file;
}
