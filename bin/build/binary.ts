// npm run build:binary [-- --out DIR]: builds the whole program as one executable, for Linux on x64.
//   dist/longshore                the program, including the Node.js that builds it
//   dist/longshore.sha256         for `sha256sum -c`
//   dist/longshore.cdx.json       the bill of materials
//   dist/longshore.licences.txt   licenses of the bundled packages

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { RUNTIME_OPTIONS } from '../../engine/runtime/program-files.ts';
import { bundle } from './bundle.ts';
import { billOfMaterials, buildStamp, licenceTexts, packageFolders } from './packages.ts';

/** Files that the program reads at run time (engine/runtime/program-files.ts). */
const ASSETS = [
  'engine/adapters/migrations/*/*.sql',
  'config/samples/access-studies.yaml',
  'http/kernel/openapi/scalar/scalar.js.br',
  'clients/console/built/*.{json,br}',
];

/** Folders with files of packages that are not installed. */
const FOREIGN_FILES = ['http/kernel/openapi/scalar'];

/** The Node.js that runs the build becomes the base of the executable. */
const RUNTIME = `node_modules/node-${process.platform}-${process.arch}`;

const root = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('only Linux on x64 is supported');
const npm = process.env.npm_execpath;
if (npm === undefined) throw new Error('start this with npm run build:binary');

if (!(await realpath(process.execPath)).startsWith((await realpath(join(root, RUNTIME))) + sep))
  throw new Error(`${process.execPath} is not the Node.js of ${RUNTIME}; start this with npm run build:binary`);

const out = resolve(values.out);
const stamp = buildStamp(root, process.env.SOURCE_DATE_EPOCH);
await mkdir(out, { recursive: true });
const work = await mkdtemp(join(out, '.build-'));
try {
  const { inputs } = await bundle(root, work);
  await writeFile(join(work, 'build.json'), `${JSON.stringify(stamp)}\n`);
  const files = globSync(ASSETS, { cwd: root }).sort();
  const assets = {
    'build.json': 'build.json',
    'thread.js': 'thread.js',
    'longshore.cjs': 'longshore.cjs',
    'longshore.code': 'longshore.code',
    ...Object.fromEntries(files.map((file) => [file, join(root, file)])),
  };
  // The executable contains these paths, so they are relative. Asset paths are not stored, so they may be absolute.
  const settings = {
    main: 'start.cjs',
    output: 'longshore',
    disableExperimentalSEAWarning: true,
    execArgv: RUNTIME_OPTIONS,
    useCodeCache: true,
    assets,
  };
  await writeFile(join(work, 'sea.json'), JSON.stringify(settings));
  // The code cache depends on the seed of V8's hashes. A seed set with `--hash-seed` would be required at every later start, so
  // we use `--random-seed`. V8 also stores a few bytes that it never writes, so they must be from memory that it has not used
  // before: the new space is large enough that nothing is collected.
  const options = ['--random-seed=1', '--min-semi-space-size=64', '--single-threaded-gc'];
  const run = (...args: string[]): void => {
    execFileSync(process.execPath, [...options, ...args], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  run(join(import.meta.dirname, 'compile.ts'), 'longshore.cjs', 'longshore.code');
  run('--build-sea', 'sea.json');
  const bundled = JSON.parse(await readFile(join(root, 'clients/console/built/packages.json'), 'utf8')) as string[];
  const folders = packageFolders([...inputs, ...bundled], RUNTIME);
  await writeFile(join(out, 'longshore.cdx.json'), await billOfMaterials(root, npm, folders, FOREIGN_FILES, stamp));
  await writeFile(join(out, 'longshore.licences.txt'), await licenceTexts(root, [...folders, ...FOREIGN_FILES]));
  const digest = createHash('sha256');
  await pipeline(createReadStream(join(work, 'longshore')), digest);
  const sum = digest.digest('hex');
  await writeFile(join(out, 'longshore.sha256'), `${sum}  longshore\n`);
  // Rename instead of overwriting: a running program keeps the file that it was started from.
  await rename(join(work, 'longshore'), join(out, 'longshore'));
  console.log(`${join(out, 'longshore')}: commit ${stamp.commit}, ${stamp.date}, sha256 ${sum}`);
} finally {
  await rm(work, { recursive: true, force: true });
}
