// The environment of scripts (plugin wire protocol): a few variables of the host, the dataset, and where to install it. They
// get no other variables of the host.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DataDb } from './hosted-plugins.ts';

/** Variables of the host that scripts get if they are set. */
const PASSED_ON = [
  '_',
  'GUS_HOME',
  'HOSTNAME',
  'JAVA_HOME',
  'LANG',
  'LD_LIBRARY_PATH',
  'ORACLE_HOME',
  'PATH',
  'PROJECT_HOME',
  'PYTHONPATH',
  'SITE_BUILD',
  'TEMPLATE_DB_NAME',
  'TEMPLATE_DB_USER',
  'TEMPLATE_DB_PASS',
  'TZ',
] as const;
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';
/** Import ids count seconds from here. */
const IMPORT_EPOCH_MS = Date.UTC(2022, 6, 1);

export type ScriptEnvironment = Readonly<Record<string, string>>;

/** The variables that all scripts of a plugin get. */
export function baseEnvironment(
  host: Readonly<Record<string, string | undefined>>,
  customPath: string | undefined,
): ScriptEnvironment {
  const passed = PASSED_ON.flatMap((name) => {
    const value = host[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const path = host.PATH || DEFAULT_PATH;
  return { ...Object.fromEntries(passed), PATH: customPath?.trim() ? `${path}:${customPath.trim()}` : path };
}

/** Unique per import, and usable as a part of a database identifier. */
export function importId(nowMs: number, jobId: number): string {
  return Math.floor((nowMs - IMPORT_EPOCH_MS) / 1000).toString(36) + jobId.toString(36);
}

export function importEnvironment(dataset: DatasetId, id: string): ScriptEnvironment {
  return { VDI_ID: dataset, VDI_IMPORT_ID: id };
}

export function installEnvironment(
  dataset: DatasetId,
  target: TargetId,
  dataFiles: string,
  db: DataDb,
): ScriptEnvironment {
  return {
    VDI_ID: dataset,
    DATA_FILES: dataFiles,
    PROJECT_ID: target,
    DB_HOST: db.host,
    DB_PORT: String(db.port),
    DB_NAME: db.name,
    DB_USER: db.user,
    DB_PASS: db.password,
    DB_SCHEMA: db.schema,
    DB_PLATFORM: db.platform,
  };
}
