// npm run build:deb [-- --out DIR] [--revision N] [--maintainer 'NAME <ADDRESS>'] [--uncompressed]: builds a Debian package of dist/longshore with
// dpkg-deb. The same executable gives the same package. Revisions distinguish packages of one version that differ in the files
// around the program.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, globSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { VERSION } from '../cli/version.ts';
import { packageFiles } from './package-files.ts';

const root = join(import.meta.dirname, '..', '..');
const SCRIPTS = ['postinst', 'prerm', 'postrm'];

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(root, 'dist') },
    revision: { type: 'string', default: '1' },
    uncompressed: { type: 'boolean', default: false },
    maintainer: { type: 'string', default: 'Longshore maintainers <longshore@localhost>' },
  },
});
if (!/^[0-9][0-9A-Za-z.+~]*$/.test(values.revision))
  throw new Error(`--revision '${values.revision}' is not a Debian revision`);
const { maintainer } = values;
if (!/^[^<>\n]+ <[^<>\s]+@[^<>\s]+>$/.test(maintainer))
  throw new Error(`--maintainer '${maintainer}' is not a name and a mail address: NAME <ADDRESS>`);
const version = `${VERSION}-${values.revision}`;
const out = resolve(values.out);
const bill = JSON.parse(await readFile(join(root, 'dist', 'longshore.cdx.json'), 'utf8')) as {
  readonly metadata: { readonly timestamp: string };
};
/** Date of the sources, as in the executable's bill of materials. */
const made = new Date(bill.metadata.timestamp);
await mkdir(out, { recursive: true });
const tree = await mkdtemp(join(out, '.deb-'));
try {
  // A package's folders must be world-readable, whatever the umask of the user who builds it.
  process.umask(0o022);
  await chmod(tree, 0o755);
  let bytes = 0;
  const sums: string[] = [];
  for (const file of packageFiles(root, { version: VERSION, debianVersion: version, maintainer, date: made })) {
    const target = join(tree, file.to);
    await mkdir(dirname(target), { recursive: true });
    if ('from' in file) await copyFile(join(root, file.from), target);
    else await writeFile(target, file.content);
    await chmod(target, file.to.startsWith('usr/bin/') ? 0o755 : 0o644);
    bytes += (await stat(target)).size;
    sums.push(`${await md5Of(target)}  ${file.to}\n`);
  }
  const folder = join(root, 'config', 'deploy', 'debian');
  await mkdir(join(tree, 'DEBIAN'));
  for (const name of SCRIPTS) {
    await copyFile(join(folder, name), join(tree, 'DEBIAN', name));
    await chmod(join(tree, 'DEBIAN', name), 0o755);
  }
  const control = (await readFile(join(folder, 'control'), 'utf8'))
    .replace('{version}', version)
    .replace('{maintainer}', maintainer)
    .replace('{kilobytes}', String(Math.ceil(bytes / 1024)));
  await writeFile(join(tree, 'DEBIAN', 'control'), control);
  await writeFile(join(tree, 'DEBIAN', 'md5sums'), sums.join(''));
  for (const path of globSync('**', { cwd: tree })) await utimes(join(tree, path), made, made);
  const file = join(out, `longshore_${version}_amd64.deb`);
  // One thread, because the result must not depend on the machine. Level 1 takes seconds, and is smaller than zstd.
  const compression = values.uncompressed ? ['-Znone'] : ['--threads-max=1', '-Zxz', '-z1'];
  execFileSync('dpkg-deb', ['--root-owner-group', ...compression, '--build', tree, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(made.getTime() / 1000)) },
  });
  console.log(file);
} finally {
  await rm(tree, { recursive: true, force: true });
}

/** dpkg uses these sums to find damaged files, not as a protection. */
async function md5Of(file: string): Promise<string> {
  const hash = createHash('md5');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
