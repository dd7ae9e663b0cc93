// Databases as dumps of pg_dump, in pieces: a tar has to know the size of each file before its content, and this way nothing has
// to be stored twice. `cat databases/1/* | pg_restore` takes them, too.

import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import type { PostgresOptions } from '../../../engine/adapters/postgres/postgres.ts';
import { databaseArg, type PostgresTool, runTool } from '../../../engine/adapters/postgres/postgres-tools.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { BackupWriter } from './backup-writer.ts';
import type { FoundDatabase } from './served-parts.ts';

const PIECE_BYTES = 16 * 1024 * 1024;
const DIGITS = 6;

export interface DumpableDatabase extends FoundDatabase {
  readonly tool: PostgresTool;
}

/** A database of a backup, where it is now. */
export interface PlacedDatabase extends DumpableDatabase {
  /** Of its dump, in the backup. */
  readonly folder: string;
}

interface DumpOrder {
  readonly database: DumpableDatabase;
  /** In the backup. */
  readonly folder: string;
  /** Name of an exported snapshot. */
  readonly snapshot: string;
  readonly clock: Clock;
}

/** Writes the dump into the backup. */
export async function dumpDatabase(
  writer: BackupWriter,
  { database: { tool, options, uses }, folder, snapshot, clock }: DumpOrder,
  signal: AbortSignal,
): Promise<void> {
  await using authorities = await Authorities.of(options);
  const args = [
    ...['--format=custom', '--compress=1', '--no-password', `--snapshot=${snapshot}`, databaseArg(options)],
    ...uses.map(({ schema }) => `--schema="${schema}"`),
  ];
  const output = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    let pieces = 0;
    for await (const piece of inPieces(chunks))
      await writer.addContent(`${folder}/${String(++pieces).padStart(DIGITS, '0')}`, piece, clock.now());
  };
  await runTool({ tool, args, database: options, caFile: authorities.file, output }, signal);
}

interface RestoreOrder {
  readonly database: DumpableDatabase;
  /** Of the pieces. */
  readonly folder: string;
  /** Schemas that exist and are empty: they are filled, not made. */
  readonly there: readonly string[];
}

/** All of it in one transaction. What it makes belongs to the role that it logs in with. */
export async function restoreDatabase(
  { database: { tool, options }, folder, there }: RestoreOrder,
  signal: AbortSignal,
): Promise<void> {
  await using authorities = await Authorities.of(options);
  const contents: Buffer[] = [];
  const listing = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of chunks) contents.push(Buffer.from(chunk));
  };
  const pieces = async (): Promise<Readable> => Readable.from(piecesOf(folder, (await readdir(folder)).sort()));
  await runTool({ tool, args: ['--list'], input: await pieces(), output: listing }, signal);
  const made = /^\d+; \d+ \d+ SCHEMA - (\S+) /;
  const wanted = Buffer.concat(contents)
    .toString()
    .split('\n')
    .filter((line) => !there.includes(made.exec(line)?.[1] ?? ''));
  const list = `${folder}.list`;
  await writeFile(list, wanted.join('\n'));
  const args = ['--single-transaction', '--no-owner', '--no-password', `--use-list=${list}`, databaseArg(options)];
  const output = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const _ of chunks);
  };
  const call = { tool, args, database: options, caFile: authorities.file, input: await pieces(), output };
  await runTool(call, signal);
}

async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pending.push(chunk);
    bytes += chunk.length;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(pending);
    [pending, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(pending);
}

async function* piecesOf(folder: string, names: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const name of names) yield* createReadStream(join(folder, name));
}

/** The authorities that a connection trusts, as a file for PostgreSQL's programs. */
class Authorities implements AsyncDisposable {
  readonly file: string | undefined;
  readonly #folder: string | undefined;

  private constructor(folder: string | undefined) {
    this.#folder = folder;
    this.file = folder && join(folder, 'authorities.pem');
  }

  static async of({ tls }: PostgresOptions): Promise<Authorities> {
    if (!tls?.rejectUnauthorized) return new Authorities(undefined);
    const made = new Authorities(await mkdtemp(join(tmpdir(), 'longshore-tls-')));
    if (made.file) await writeFile(made.file, tls.ca ?? rootCertificates.join('\n'));
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true });
  }
}
