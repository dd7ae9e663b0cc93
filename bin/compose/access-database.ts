// The database of the dataset access service: a separate database, or a schema of the cache DB.

import { readFile } from 'node:fs/promises';
import type { Static } from 'typebox';
import type { Configuration } from '../../config/configuration.ts';
import { displayPath, isMap, pointerOf } from '../../config/path.ts';
import { formatFault } from '../../config/validate.ts';
import { readYaml, type YamlSource } from '../../config/yaml-source.ts';
import { PostgresAccessCatalogue } from '../../engine/adapters/access/catalogue.ts';
import { PostgresOutbox } from '../../engine/adapters/access/outbox.ts';
import { accessMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { isEmail } from '../../engine/model/access-mail.ts';
import { parseCuratedId, RESTRICTION_LEVELS } from '../../engine/model/access-request.ts';
import type { CuratedDataset } from '../../engine/ports/access-datasets.ts';
import { messageOf, rejected } from '../../engine/runtime/failure.ts';
import { type Logger, silentLogger } from '../../engine/runtime/log.ts';
import { programFile } from '../../engine/runtime/program-files.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { FaultList } from '../../http/installer/metadata/input.ts';
import type { FieldPath } from '../../http/kernel/input/faults.ts';
import { compileSchema } from '../../http/kernel/input/json-schema.ts';
import { Type } from '../../http/kernel/openapi/schema-node.ts';
import { cacheConnection } from './databases.ts';

const SCHEMA = 'access';

type Parts = Pick<Configuration, 'access' | 'installer'>;

export function accessConnection({ access, installer }: Parts): PostgresOptions {
  const db = access?.db;
  const connection = cacheConnection(db ?? installer.cacheDb);
  return { ...connection, schema: db?.schema ?? SCHEMA, applicationName: 'longshore access' };
}

/**
 * Opens and migrates the database for the service itself, and for the installer, which queries its grants. Undefined without
 * dataset access service. The caller has already waited for the database (wait-for-dependencies.ts).
 */
export async function openAccess(
  configuration: Parts,
  log: Logger,
  scope: Scope,
  signal: AbortSignal,
): Promise<Postgres | undefined> {
  if (!configuration.access) return undefined;
  const connection = accessConnection(configuration);
  const db = scope.use('access database', new Postgres(connection, log));
  await migrateAccess(db, connection, signal);
  return db;
}

/** Returns the numbers of the migrations that were applied now. */
const migrateAccess = async (
  db: Postgres,
  { schema }: Pick<PostgresOptions, 'schema'>,
  signal: AbortSignal,
): Promise<readonly number[]> => migrate(db, schema, await accessMigrations(), signal);

/** Adds or replaces the datasets of a file. Returns how many the file contains, and how many of them differed. */
export async function importCatalogue(
  parts: Parts,
  file: string,
  signal: AbortSignal,
): Promise<{ readonly read: number; readonly changed: number }> {
  const datasets = await readCatalogueFile(file);
  const connection = accessConnection(parts);
  await using db = new Postgres({ ...connection, poolSize: 1 }, silentLogger());
  await migrateAccess(db, connection, signal);
  return { read: datasets.length, changed: await new PostgresAccessCatalogue(db).put(datasets, signal) };
}

/** Retries or removes the mails that were given up. Returns how many. */
export async function settleDeadMails(parts: Parts, what: 'retry' | 'discard', signal: AbortSignal): Promise<number> {
  await using db = new Postgres({ ...accessConnection(parts), poolSize: 1 }, silentLogger());
  const outbox = new PostgresOutbox(db);
  return what === 'retry' ? outbox.retryDead(new Date(systemClock.now()), signal) : outbox.discardDead(signal);
}

/** Adds the missing datasets of the program's own file. Existing ones keep their operator's changes. */
export async function addMissing(parts: Parts, file: string, signal: AbortSignal): Promise<void> {
  const connection = accessConnection(parts);
  await using db = new Postgres({ ...connection, poolSize: 1 }, silentLogger());
  await migrateAccess(db, connection, signal);
  const catalogue = new PostgresAccessCatalogue(db);
  const missing = [];
  for (const one of readCatalogue(file, await programFile(file)))
    if (!(await catalogue.find(one.datasetId, signal))) missing.push(one);
  await catalogue.put(missing, signal);
}

// Reads a YAML file of curated datasets. The whole file is validated before any of it is used.

const MAX_TEXT = 32_768;
const text = Type.String({ minLength: 1, maxLength: MAX_TEXT });
const optional = Type.Optional(Type.String({ maxLength: MAX_TEXT }));

const CatalogueFile = Type.Object(
  {
    datasets: Type.Array(
      Type.Object(
        {
          datasetId: Type.String({ minLength: 1, maxLength: 64 }),
          studyId: Type.String({ minLength: 1, maxLength: 256 }),
          sha1Hash: optional,
          displayName: text,
          shortDisplayName: optional,
          description: optional,
          restrictionLevel: Type.Enum([...RESTRICTION_LEVELS]),
          daysForApproval: Type.Optional(Type.Integer({ minimum: -1, maximum: 36_500 })),
          priorAuthLabel: optional,
          mailFrom: optional,
          managerText: optional,
          requesterText: optional,
          approvalText: optional,
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
type Entry = Static<typeof CatalogueFile>['datasets'][number];

const check = compileSchema(CatalogueFile);

/** Rejects with every fault, each with its line. */
async function readCatalogueFile(file: string): Promise<readonly CuratedDataset[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (cause) {
    throw rejected(`${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  return readCatalogue(file, content);
}

/** @param file the name that faults show */
function readCatalogue(file: string, content: string): readonly CuratedDataset[] {
  const source = readYaml(content);
  const faults = source.faults.map(({ position, path, found, allowed }) =>
    formatFault({ file, ...position, path: displayPath(path), found, allowed }),
  );
  if (source.readable) faults.push(...contentFaults(file, source));
  if (faults.length > 0) throw rejected(faults.join('\n'));
  return (source.value as Static<typeof CatalogueFile>).datasets.map(curated);
}

function contentFaults(file: string, source: YamlSource): readonly string[] {
  const faults = new FaultList();
  check(source.value, faults);
  for (const [i, entry] of entriesOf(source.value).entries()) checkEntry(entry, ['datasets', i], faults);
  for (const field of ['datasetId', 'studyId'] as const) repeats(entriesOf(source.value), field, faults);
  return faults.all.map(({ path, sentence }) => {
    const { line, column } = placeOf(source, path);
    return `${file}:${line}:${column}: ${displayPath(path)} ${sentence}`;
  });
}

const entriesOf = (value: unknown): readonly Partial<Entry>[] =>
  isMap(value) && Array.isArray(value.datasets) ? value.datasets.filter(isMap) : [];

function checkEntry(entry: Partial<Entry>, at: FieldPath, faults: FaultList): void {
  if (typeof entry.datasetId === 'string' && !parseCuratedId(entry.datasetId))
    faults.add([...at, 'datasetId'], 'may contain only letters, digits and _');
  if (typeof entry.mailFrom === 'string' && entry.mailFrom !== '' && !isEmail(entry.mailFrom))
    faults.add([...at, 'mailFrom'], 'is not an email address');
  for (const [field, value] of Object.entries(entry))
    if (typeof value === 'string' && (value.includes('\u0000') || !value.isWellFormed()))
      faults.add([...at, field], 'contains a character that cannot be stored');
}

function repeats(entries: readonly Partial<Entry>[], field: 'datasetId' | 'studyId', faults: FaultList): void {
  const first = new Map<unknown, number>();
  for (const [i, entry] of entries.entries()) {
    const earlier = first.get(entry[field]);
    if (entry[field] === undefined) continue;
    if (earlier === undefined) first.set(entry[field], i);
    else faults.add(['datasets', i, field], `is already used by datasets[${earlier}]`);
  }
}

/** The position of the value, or of its nearest parent that exists. */
function placeOf({ marks }: YamlSource, path: FieldPath): { readonly line: number; readonly column: number } {
  for (let steps = path.length; steps >= 0; steps--) {
    const mark = marks.get(pointerOf(path.slice(0, steps)));
    if (mark) return mark.key ?? mark.value;
  }
  return { line: 1, column: 1 };
}

function curated(entry: Entry): CuratedDataset {
  const datasetId = parseCuratedId(entry.datasetId);
  if (!datasetId) throw rejected(`'${entry.datasetId}' is not a dataset id`);
  return {
    datasetId,
    studyId: entry.studyId,
    sha1Hash: entry.sha1Hash ?? '',
    displayName: entry.displayName,
    shortDisplayName: entry.shortDisplayName ?? entry.displayName,
    description: entry.description ?? '',
    restrictionLevel: entry.restrictionLevel,
    daysForApproval: entry.daysForApproval ?? -1,
    priorAuthLabel: entry.priorAuthLabel ?? '',
    mailFrom: entry.mailFrom ?? '',
    managerText: entry.managerText ?? '',
    requesterText: entry.requesterText ?? '',
    approvalText: entry.approvalText ?? '',
  };
}
