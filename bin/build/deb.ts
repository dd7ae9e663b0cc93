// npm run build:deb [-- --out DIR] [--revision N]: builds a Debian package of dist/longshore with dpkg-deb. The same executable
// gives the same package. Revisions distinguish packages of one version that differ in the files around the program.

import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { VERSION } from '../cli/version.ts';

const root = join(import.meta.dirname, '..', '..');
const DOC = 'usr/share/doc/longshore';
/** Installed path -> source; a source that is a folder is walked. */
const FILES: Readonly<Record<string, string>> = {
  'usr/bin/longshore': 'dist/longshore',
  'usr/lib/systemd/system/longshore.service': 'config/deploy/systemd/longshore.service',
  'usr/lib/systemd/system/longshore-plugin@.service': 'config/deploy/systemd/longshore-plugin@.service',
  [`${DOC}/copyright`]: 'dist/longshore.licences.txt',
  [`${DOC}/longshore.cdx.json`]: 'dist/longshore.cdx.json',
  [`${DOC}/UPGRADING.md`]: 'config/deploy/UPGRADING.md',
  [`${DOC}/examples`]: 'config/deploy/examples',
};
/** Installed under their paths in the source tree, so that links between the pages work offline. */
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'docs/**/*.md',
  'config/deploy/{prometheus,grafana}/*',
  'config/samples/*.yaml',
  '{actors,bin,config,engine,http}/**/*.md',
  'test/README.md',
];
const SCRIPTS = ['postinst', 'prerm', 'postrm'];

const { values } = parseArgs({
  options: { out: { type: 'string', default: join(root, 'dist') }, revision: { type: 'string', default: '1' } },
});
if (!/^[0-9][0-9A-Za-z.+~]*$/.test(values.revision))
  throw new Error(`--revision '${values.revision}' is not a Debian revision`);
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
  for (const [to, from] of entries()) {
    const target = join(tree, to);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(join(root, from), target);
    await chmod(target, to.startsWith('usr/bin/') ? 0o755 : 0o644);
    bytes += (await stat(target)).size;
  }
  const folder = join(root, 'config', 'deploy', 'debian');
  await mkdir(join(tree, 'DEBIAN'));
  for (const name of SCRIPTS) {
    await copyFile(join(folder, name), join(tree, 'DEBIAN', name));
    await chmod(join(tree, 'DEBIAN', name), 0o755);
  }
  const control = (await readFile(join(folder, 'control'), 'utf8'))
    .replace('{version}', version)
    .replace('{kilobytes}', String(Math.ceil(bytes / 1024)));
  await writeFile(join(tree, 'DEBIAN', 'control'), control);
  for (const path of globSync('**', { cwd: tree })) await utimes(join(tree, path), made, made);
  const file = join(out, `longshore_${version}_amd64.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '--build', tree, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(made.getTime() / 1000)) },
  });
  console.log(file);
} finally {
  await rm(tree, { recursive: true, force: true });
}

function entries(): readonly (readonly [to: string, from: string])[] {
  const files = Object.entries(FILES).flatMap(([to, from]) => {
    const inside = globSync(`${from}/*`, { cwd: root }).sort();
    return inside.length === 0
      ? [[to, from] as const]
      : inside.map((file) => [join(to, file.slice(from.length)), file] as const);
  });
  const pages = globSync(PAGES, { cwd: root }).sort();
  return [...files, ...pages.map((page) => [join(DOC, page), page] as const)];
}
