// Checks the process's environment: the version of Node.js, and the limit of open files.

import { constants, type StatsFs } from 'node:fs';
import { access, readFile, stat, statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { type Check, codeOf, type Findings, fault, type Problem, warning } from './check.ts';

interface MachineOptions {
  /** Files and sockets that the configuration may have open at once. */
  readonly wantedFiles: number;
}

/** The first version that runs TypeScript without a build. */
const OLDEST_NODE = 24;
const FEWEST_FILES = 1_024;

export const machineCheck = ({ wantedFiles }: MachineOptions): Check => ({
  name: 'machine',
  where: hostname(),
  tried: 'check the version of Node.js and the limit of open files',
  async look() {
    const limit = openFilesOf(await readFile('/proc/self/limits', 'utf8').catch(() => ''));
    const files = limit === undefined ? 'unknown limit of open files' : `${limit} open files`;
    return {
      says: `Node.js ${process.versions.node}, ${files}`,
      problems: [...nodeProblems(process.versions.node), ...filesProblems(limit, wantedFiles)],
    };
  },
  explain: () => 'check /proc/self/limits',
});

/** Exported for its test. */
export function nodeProblems(version: string): readonly Problem[] {
  if (Number.parseInt(version, 10) >= OLDEST_NODE) return [];
  const fix = `run longshore with Node.js ${OLDEST_NODE} or later; npm ci installs a tested version`;
  return [fault(`Node.js ${version} is too old`, fix)];
}

/** Exported for its test. */
export function filesProblems(limit: number | undefined, wanted: number): readonly Problem[] {
  if (limit === undefined || limit >= Math.max(wanted, FEWEST_FILES)) return [];
  const fix = `ulimit -n ${wanted}, LimitNOFILE=${wanted} in a systemd unit, or --ulimit nofile=${wanted} for a container`;
  return limit < FEWEST_FILES
    ? [fault(`only ${limit} files may be open at once`, fix)]
    : [warning(`${limit} files may be open at once, but the configuration may need ${wanted}`, fix)];
}

/** The effective (soft) limit. Undefined when there is none, or when it cannot be read. */
export function openFilesOf(limits: string): number | undefined {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}

// Checks that the programs that the service runs exist and are executable.

export interface Program {
  /** For example `script import`. */
  readonly name: string;
  /** A path, or a name that is searched in `path`. */
  readonly program: string;
  /** Path in the configuration. */
  readonly key: string;
}

interface ProgramsOptions {
  readonly name: string;
  readonly where: string;
  readonly programs: readonly Program[];
  /** Colon-separated directories, for programs given by name. */
  readonly path: string;
  /** Whether the service works without them; default false. */
  readonly optional?: boolean;
}

export const programsCheck = ({ name, where, programs, path, optional = false }: ProgramsOptions): Check => ({
  name,
  where,
  tried: `look for ${programs.length} program${programs.length === 1 ? '' : 's'}`,
  look: async () => ({ problems: (await Promise.all(programs.map((one) => problemsOf(one, path, optional)))).flat() }),
  explain: () => 'inspect them: is their disk mounted and healthy?',
});

async function problemsOf(
  { name, program, key }: Program,
  path: string,
  optional: boolean,
): Promise<readonly Problem[]> {
  const problem = optional ? warning : fault;
  const dirs = path.split(delimiter).filter(isAbsolute);
  const places = program.includes('/') ? [program] : dirs.map((dir) => join(dir, program));
  let closed: string | undefined;
  for (const place of places) {
    const found = await tried(place);
    if (found === 'runs') return [];
    if (found === 'closed') closed ??= place;
  }
  return closed === undefined
    ? [problem(`${name}: ${program} does not exist`, `install it, or correct ${key}`)]
    : [problem(`${name}: ${closed} is not executable for user id ${process.getuid?.()}`, `chmod +x ${closed}`)];
}

async function tried(place: string): Promise<'runs' | 'closed' | 'absent'> {
  try {
    if (!(await stat(place)).isFile()) return 'absent';
    await access(place, constants.X_OK);
    return 'runs';
  } catch (error) {
    return codeOf(error) === 'EACCES' ? 'closed' : 'absent';
  }
}

// Checks a folder: it exists or can be created, is writable, and has free space.

export interface FolderOptions {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Path in the configuration. Undefined if it is derived from the location of the configuration file. */
  readonly key?: string;
  /** The service creates it when it is missing. */
  readonly made: boolean;
  /** With less free space, work will soon fail. */
  readonly wantedBytes: number;
}

const GIB = 1024 ** 3;

export const folderCheck = (options: FolderOptions): Check => ({
  name: options.name,
  where: options.path,
  tried: 'check that it exists, its permissions and its free space',
  look: () => look(options),
  explain: () => 'inspect it: is its disk mounted and healthy?',
});

async function look({ path, key, made, wantedBytes }: FolderOptions): Promise<Findings> {
  const elsewhere = key === undefined ? '' : `, or correct ${key}`;
  const folder = made ? await firstThere(path) : path;
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    (error: unknown) => codeOf(error) ?? 'no reason given',
  );
  if (typeof isFolder === 'string')
    return { problems: [fault(`it does not exist (${isFolder})`, `create it, or mount its file system${elsewhere}`)] };
  if (!isFolder) return { problems: [fault(`${folder} is not a folder`, `move it away${elsewhere}`)] };
  const closed = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => codeOf(error),
  );
  if (closed !== undefined)
    return {
      problems: [
        fault(`${folder} is not writable (${closed})`, `let user id ${process.getuid?.()} write there${elsewhere}`),
      ],
    };
  const { says, problems } = roomOf(await statfs(folder), wantedBytes, elsewhere);
  return { says: folder === path ? says : `${says}; it will be created`, problems };
}

/** The folder, or its nearest existing ancestor. */
async function firstThere(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    const isMissing = await stat(folder).then(
      () => false,
      (error: unknown) => codeOf(error) === 'ENOENT',
    );
    if (!isMissing || folder === dirname(folder)) return folder;
  }
}

/** Exported for its test. */
export function roomOf(
  { bavail, bsize, files, ffree }: Pick<StatsFs, 'bavail' | 'bsize' | 'files' | 'ffree'>,
  wantedBytes: number,
  elsewhere: string,
): { readonly says: string; readonly problems: readonly Problem[] } {
  const freeBytes = bavail * bsize;
  const says = `${gib(freeBytes)} free`;
  const fix = `free some space${elsewhere}`;
  const problems = [
    ...(freeBytes === 0 ? [fault('its disk is full', fix)] : []),
    ...(freeBytes > 0 && freeBytes < wantedBytes
      ? [warning(`${says}, less than the ${gib(wantedBytes)} it may need at once`, fix)]
      : []),
    // Some file systems do not count inodes.
    ...(files > 0 && ffree === 0 ? [fault('its disk has no free inodes', fix)] : []),
  ];
  return { says, problems };
}

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
