// The packages whose code is in a build, and the documents they require: a bill of materials and their license texts.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
}

interface Bill {
  readonly metadata: { readonly component: object };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

/** Folders of packages, such as `node_modules/pg`. `runtime` is the base of the executable, which is not bundled. */
export function packageFolders(inputs: readonly string[], runtime: string): readonly string[] {
  const found = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set([...found.filter((folder) => folder !== undefined), runtime])].sort();
}

/**
 * CycloneDX 1.5 as JSON: npm's bill of the lock file, without the packages that are not in the build.
 * @param foreign folders with files of packages that are not in the lock file
 */
export async function billOfMaterials(
  root: string,
  npm: string,
  folders: readonly string[],
  foreign: readonly string[],
  { date }: BuildStamp,
): Promise<string> {
  const args = [npm, 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const bill = JSON.parse(
    execFileSync(process.execPath, args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
    }),
  ) as Bill;
  const manifests = await Promise.all(folders.map((folder) => manifestOf(root, folder)));
  const refs = new Set(manifests.map(({ name, version }) => `${name}@${version}`));
  const components = bill.components.filter((one) => refs.has(one['bom-ref']));
  const unknown = refs.difference(new Set(components.map((one) => one['bom-ref'])));
  if (unknown.size > 0) throw new Error(`not in the lock file: ${[...unknown].join(', ')}`);
  const [own, ...others] = bill.dependencies;
  const dependencies = [own, ...others.filter(({ ref }) => refs.has(ref))].map((one) => ({
    ...one,
    dependsOn: one?.dependsOn?.filter((ref) => refs.has(ref)) ?? [],
  }));
  const added = await Promise.all(foreign.map(async (folder) => componentOf(await manifestOf(root, folder))));
  const component = { ...bill.metadata.component, type: 'application', name: 'longshore' };
  const content = {
    ...bill,
    metadata: { ...bill.metadata, timestamp: date, component },
    components: [...components, ...added],
    dependencies,
  };
  const { serialNumber: _random, ...rest } = content as typeof content & { serialNumber?: string };
  const hash = createHash('sha256').update(JSON.stringify(rest)).digest('hex');
  return `${JSON.stringify({ ...rest, serialNumber: `urn:uuid:${uuidOf(hash)}` }, null, 2)}\n`;
}

/** The license texts that each package ships. */
export async function licenceTexts(root: string, folders: readonly string[]): Promise<string> {
  const parts: string[] = [];
  for (const folder of folders) {
    const manifest = await manifestOf(root, folder);
    const files = globSync('{LICEN[CS]E,licen[cs]e,License,COPYING,NOTICE}*', { cwd: join(root, folder) }).sort();
    const texts = await Promise.all(files.map((file) => readFile(join(root, folder, file), 'utf8')));
    parts.push(
      [`${manifest.name} ${manifest.version} (${String(manifest.license)})`, ...texts.map((text) => text.trim())].join(
        '\n\n',
      ),
    );
  }
  return `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
}

const manifestOf = async (root: string, folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Manifest;

const componentOf = ({ name, version, license }: Manifest): Component & Readonly<Record<string, unknown>> => ({
  'bom-ref': `${name}@${version}`,
  type: 'library',
  name,
  version,
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  licenses: [{ license: { id: license } }],
});

/** RFC 9562, version 8: derived from a hash. */
const uuidOf = (hash: string): string =>
  `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;

// The commit and date of the sources of a build. Never the time of the build itself, so that two builds of one commit are
// identical.

interface BuildStamp {
  /** 40 hexadecimal digits, with the suffix `-changed` when files differ from the commit; `unknown` outside of git. */
  readonly commit: string;
  /** ISO 8601 in UTC: `SOURCE_DATE_EPOCH`, otherwise the date of the commit. */
  readonly date: string;
}

const SOURCES = ['bin', 'engine', 'actors', 'http', 'config', 'clients', 'package.json', 'package-lock.json'];

export function buildStamp(root: string, epoch: string | undefined): BuildStamp {
  if (epoch !== undefined && !/^\d{1,11}$/.test(epoch))
    throw new Error(`SOURCE_DATE_EPOCH is '${epoch}', not seconds since 1970`);
  const commit = git(root, 'rev-parse', 'HEAD');
  const seconds = epoch ?? (commit && git(root, 'log', '-1', '--format=%ct'));
  if (!seconds) throw new Error('no date for the build: this is not a git checkout, and SOURCE_DATE_EPOCH is not set');
  const changed = commit && git(root, 'status', '--porcelain', '--', ...SOURCES) !== '';
  return {
    commit: commit ? `${commit}${changed ? '-changed' : ''}` : 'unknown',
    date: `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}Z`,
  };
}

/** Undefined when git or the repository is missing. */
function git(root: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
