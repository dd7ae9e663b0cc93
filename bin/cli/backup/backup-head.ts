// What a backup says of itself: at its begin what is needed to decide whether this program can restore it, at its end the instant.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  accessMigrations,
  cacheMigrations,
  controlMigrations,
  reportMigrations,
} from '../../../engine/adapters/migrations/migrations.ts';
import { isObject } from '../../../engine/model/json.ts';
import { rejected } from '../../../engine/runtime/failure.ts';
import type { DataDir } from '../../compose/data-dir.ts';
import { VERSION } from '../version.ts';

/** The first entry. */
export const HEAD = 'longshore-backup.json';
/** In a backup of `longshore serve`, the configuration file. */
export const CONFIGURATION = 'configuration.yaml';
/** The last entry before the manifest. */
export const INSTANT = 'longshore-instant.json';
/** Of what a backup contains, and how. A program restores its own and older ones. */
const FORMAT = 1;

interface CommonHead {
  readonly format: number;
  readonly version: string;
  /** The newest migration that the program knew, by schema. */
  readonly migrations: Readonly<Record<string, number>>;
}

/** Of the data directory of `longshore up`. */
export interface DataDirHead extends CommonHead {
  /** Where it was; the configuration in it names paths below it. */
  readonly dataDirectory: string;
  /** Major version of the PostgreSQL server, whose programs are needed. */
  readonly postgres: number | undefined;
}

/** Of an installation of `longshore serve`. */
export interface ServedHead extends CommonHead {
  /** The configuration file. A copy of it is in the backup. */
  readonly configuration: string;
  readonly databases: readonly SavedDatabase[];
  readonly folders: readonly SavedFolder[];
}

export type BackupHead = DataDirHead | ServedHead;

/** A dump, in the form of pg_dump's custom format, in pieces that follow each other. */
export interface SavedDatabase {
  /** Of the pieces, in the backup. */
  readonly folder: string;
  /** What uses each schema; names as doctor shows them. The first one's role has made the dump. */
  readonly uses: readonly { readonly name: string; readonly schema: string }[];
  /** Major version of the server, and of pg_dump. */
  readonly server: number;
  readonly dumpedBy: number;
}

export interface SavedFolder {
  /** In the backup. */
  readonly folder: string;
  readonly path: string;
  /** The settings that name it. */
  readonly keys: readonly string[];
}

export interface BackupEnd {
  readonly instant: string;
  readonly notIncluded: readonly string[];
}

export async function headOf(dir: DataDir): Promise<DataDirHead> {
  const text = await readFile(join(dir.path, 'postgres', 'PG_VERSION'), 'utf8').catch(() => '');
  const major = Number.parseInt(text, 10);
  return {
    ...(await commonHead()),
    dataDirectory: dir.path,
    postgres: Number.isNaN(major) ? undefined : major,
  };
}

export const servedHead = async (parts: Omit<ServedHead, keyof CommonHead>): Promise<ServedHead> => ({
  ...(await commonHead()),
  ...parts,
});

const commonHead = async (): Promise<CommonHead> => ({
  ...{ format: FORMAT, version: VERSION },
  migrations: await knownMigrations(),
});

/** Throws `rejected` for a backup of a newer program. */
export async function checkHead(file: string, text: string): Promise<BackupHead> {
  const head = parsed(text);
  if (!isHead(head)) throw rejected(`${file} is not a backup of Longshore`);
  const known = await knownMigrations();
  const newer = Object.entries(head.migrations).find(([schema, number]) => number > (known[schema] ?? 0));
  if (head.format <= FORMAT && !newer) return head;
  const why = newer ? `schema ${newer[0]} has migration ${newer[1]}` : `format ${head.format}`;
  throw rejected(`${file} was made by a newer program, version ${head.version} (${why}); this one is ${VERSION}`);
}

/** Throws `rejected` for a backup of the other kind. */
export function demandDataDir(file: string, head: BackupHead): asserts head is DataDirHead {
  if ('dataDirectory' in head) return;
  throw rejected(`${file} is a backup of 'longshore serve' (${head.configuration}); restore it with --config FILE`);
}

export function demandServed(file: string, head: BackupHead): asserts head is ServedHead {
  if ('databases' in head) return;
  throw rejected(`${file} is a backup of 'longshore up' (${head.dataDirectory}); restore it without --config`);
}

/** Throws `rejected` for anything else than what a backup ends with. */
export function checkEnd(file: string, text: string): BackupEnd {
  const end = parsed(text);
  if (!isEnd(end)) throw rejected(`${file} is damaged: ${INSTANT} does not say when it was made`);
  return end;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const isList =
  (isItem: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(isItem);
const hasAll =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(members).every(([name, isSound]) => isSound(value[name]));

const isCommon = hasAll({
  ...{ format: isNumber, version: isText },
  migrations: (value) => isObject(value) && Object.values(value).every(isNumber),
});
const isDataDir = hasAll({
  dataDirectory: isText,
  postgres: (value) => value === undefined || isNumber(value),
});
const isServed = hasAll({
  configuration: isText,
  databases: isList(
    hasAll({
      ...{ folder: isText, server: isNumber, dumpedBy: isNumber },
      uses: isList(hasAll({ name: isText, schema: isText })),
    }),
  ),
  folders: isList(hasAll({ folder: isText, path: isText, keys: isList(isText) })),
});

const isHead = (value: unknown): value is BackupHead => isCommon(value) && (isDataDir(value) || isServed(value));
const isEnd = (value: unknown): value is BackupEnd => hasAll({ instant: isTime, notIncluded: isList(isText) })(value);
const isTime: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function knownMigrations(): Promise<Record<string, number>> {
  const [cache, control, report, access] = await Promise.all([
    cacheMigrations(),
    controlMigrations(),
    reportMigrations(),
    accessMigrations(),
  ]);
  return { cache: cache.length, control: control.length, report: report.length, access: access.length };
}
