// Databases in the layout of `makeblastdb`: one index, header and sequence file per volume, and alias files that list several.
// Alias files are resolved like BLAST does: a name is searched next to the alias file, then on the search path.

import { createHash, type Hash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Molecule } from '../../model/report/query-job.ts';
import type { BlastDatabases } from '../../ports/report-jobs.ts';
import { kindOf, messageOf, rejected, transient } from '../../runtime/failure.ts';

interface BlastDatabaseOptions {
  /** Directories in which relative names are searched (BLASTDB). */
  readonly searchPath: readonly string[];
}

interface Extensions {
  readonly alias: string;
  readonly index: string;
  /** Files of a volume besides its index. */
  readonly content: readonly string[];
}

const EXTENSIONS: Readonly<Record<Molecule, Extensions>> = {
  nucleotide: { alias: '.nal', index: '.nin', content: ['.nhr', '.nsq'] },
  protein: { alias: '.pal', index: '.pin', content: ['.phr', '.psq'] },
};
const CHUNK_BYTES = 256 * 1024;
/**
 * Sample from each end of a header or sequence file. The index alone does not reveal a different order of sequences with equal
 * lengths.
 */
const SAMPLE_BYTES = 1024 * 1024;
const MAX_ALIAS_BYTES = 4 * 1024 * 1024;
/** Errors that an operator can fix. */
const UNUSABLE = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'];

export class BlastDatabaseFiles implements BlastDatabases {
  readonly #searchPath: readonly string[];

  constructor({ searchPath }: BlastDatabaseOptions) {
    this.#searchPath = searchPath;
  }

  async fingerprint(names: readonly string[], molecule: Molecule, signal: AbortSignal): Promise<string> {
    const walk = new Walk(this.#searchPath, EXTENSIONS[molecule], signal);
    for (const name of names) {
      try {
        await walk.add(name, this.#searchPath);
      } catch (error) {
        throw classified(error, `the ${molecule} database '${name}' cannot be used`);
      }
    }
    return walk.digest();
  }
}

function classified(error: unknown, what: string): unknown {
  if (kindOf(error) === 'aborted') return error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const failure = kindOf(error) === 'rejected' || UNUSABLE.includes(code) ? rejected : transient;
  return failure(`${what}: ${messageOf(error)}`, { cause: error });
}

/** One pass over all files of some databases, without duplicates. */
class Walk {
  readonly #hash: Hash = createHash('sha256');
  readonly #seen = new Set<string>();
  readonly #searchPath: readonly string[];
  readonly #extensions: Extensions;
  readonly #signal: AbortSignal;
  /** Shared by all files, and only as large as the largest needs: the databases of a small report are small. */
  #buffer: Buffer = Buffer.alloc(0);

  constructor(searchPath: readonly string[], extensions: Extensions, signal: AbortSignal) {
    this.#searchPath = searchPath;
    this.#extensions = extensions;
    this.#signal = signal;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }

  async add(name: string, dirs: readonly string[]): Promise<void> {
    this.#signal.throwIfAborted();
    const { alias, index } = this.#extensions;
    for (const place of isAbsolute(name) ? [name] : dirs.map((dir) => join(dir, name))) {
      // An alias may have the same name as the single volume that it restricts.
      const found = [await exists(place + alias), await exists(place + index)] as const;
      if (!found[0] && !found[1]) continue;
      if (found[0]) await this.#alias(place + alias);
      if (found[1]) await this.#volume(place);
      return;
    }
    const where = isAbsolute(name) ? '' : ` in ${dirs.join(':') || 'no directories'}`;
    throw rejected(`there is no '${name}${alias}' or '${name}${index}'${where}`);
  }

  async #alias(file: string): Promise<void> {
    if (this.#isKnown(file)) return;
    await using handle = await open(file);
    const { size } = await handle.stat();
    if (size > MAX_ALIAS_BYTES) throw rejected(`${file} has ${size} bytes, too large for an alias file`);
    const text = await handle.readFile('utf8');
    this.#label('alias', file, size);
    this.#hash.update(text);
    for (const name of aliasedDatabases(text)) await this.add(name, [dirname(file), ...this.#searchPath]);
  }

  async #volume(place: string): Promise<void> {
    const { index, content } = this.#extensions;
    if (this.#isKnown(place + index)) return;
    await this.#file('index', place + index, Number.POSITIVE_INFINITY);
    for (const extension of content) await this.#file('content', place + extension, SAMPLE_BYTES);
  }

  /** Hashes a file's size and content. For a file larger than twice the sample, only its two ends. */
  async #file(kind: string, file: string, sample: number): Promise<void> {
    await using handle = await open(file);
    const { size } = await handle.stat();
    this.#label(kind, file, size);
    const wanted = Math.min(CHUNK_BYTES, size);
    if (this.#buffer.length < wanted) this.#buffer = Buffer.allocUnsafe(wanted);
    const buffer = this.#buffer;
    for (let at = 0; at < size; ) {
      this.#signal.throwIfAborted();
      if (at >= sample && at < size - sample) at = size - sample;
      const until = at < sample ? Math.min(size, sample) : size;
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, until - at), at);
      if (bytesRead === 0) throw transient(`${file} was truncated while it was read`);
      this.#hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  }

  #isKnown(file: string): boolean {
    if (this.#seen.has(file)) return true;
    this.#seen.add(file);
    return false;
  }

  /** Without the directory, because a database may be moved. */
  #label(kind: string, file: string, size: number): void {
    this.#hash.update(`\0${kind} ${basename(file)} ${size}\0`);
  }
}

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) return false;
      throw error;
    },
  );

// Parses BLAST alias files: a database that consists of other databases, by name.

/** The names in `DBLIST`; a name with white space is in double quotes. */
function aliasedDatabases(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => /^\s*DBLIST\s+(.*)$/.exec(line)?.[1])
    .filter((list) => list !== undefined)
    .flatMap((list) => [...list.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ''))
    .filter((name) => name !== '');
}
