// What the Debian package contains, and where. Pages are adapted: their links lead to files of the package.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bashCompletion, fishCompletion, zshCompletion } from '../commands/completion.ts';
import { manPages } from './man-pages.ts';

const DOC = 'usr/share/doc/longshore';
const SHARE = 'usr/share/longshore';

/** Files as they are: source -> path in the package. A source that is a folder is taken with what is directly in it. */
const AS_THEY_ARE: Readonly<Record<string, string>> = {
  'dist/longshore': 'usr/bin/longshore',
  'config/deploy/systemd/longshore.service': 'usr/lib/systemd/system/longshore.service',
  'config/deploy/systemd/longshore-plugin@.service': 'usr/lib/systemd/system/longshore-plugin@.service',
  'config/deploy/systemd/longshore.tmpfiles': 'usr/lib/tmpfiles.d/longshore.conf',
  'config/deploy/debian/copyright': `${DOC}/copyright`,
  'config/deploy/debian/lintian-overrides': 'usr/share/lintian/overrides/longshore',
  'dist/longshore.licences.txt': `${DOC}/licences.txt`,
  'dist/longshore.cdx.json': `${DOC}/longshore.cdx.json`,
  'config/deploy/examples': `${DOC}/examples`,
  'config/deploy/prometheus': `${SHARE}/prometheus`,
  'config/deploy/grafana': `${SHARE}/grafana`,
};
/** Pages and what they refer to, under their paths in the source tree. */
const PAGES = ['README.md', 'docs/**/*.md', '{actors,bin,config,engine,http}/**/*.md', 'test/README.md'];
const SAMPLES = ['config/samples/*.yaml', 'config/samples/genes.txt', 'docs/images/*'];
/** What Debian expects under a name of its own. The license itself is on every Debian system. */
const RENAMED: Readonly<Record<string, string>> = {
  'CHANGELOG.md': `${DOC}/changelog.gz`,
  LICENSE: `${DOC}/copyright`,
};

export interface PackageEdition {
  readonly version: string;
  /** With the Debian revision. */
  readonly debianVersion: string;
  readonly maintainer: string;
  /** Of the sources. */
  readonly date: Date;
}

/** A file of the package: its path, and what it contains or the file (from the root) that it is a copy of. */
export type PackageFile = { readonly to: string } & (
  | { readonly from: string }
  | { readonly content: string | Uint8Array }
);

export function packageFiles(root: string, edition: PackageEdition): readonly PackageFile[] {
  const copies = Object.entries(AS_THEY_ARE).flatMap(([from, to]) => {
    const inside = globSync(`${from}/*`, { cwd: root }).sort();
    return inside.length === 0
      ? [{ from, to }]
      : inside.map((file) => ({ from: file, to: to + file.slice(from.length) }));
  });
  const samples = globSync(SAMPLES, { cwd: root }).map((from) => ({ from, to: `${DOC}/${from}` }));
  const pages = globSync(PAGES, { cwd: root }).map((from) => ({ from, to: `${DOC}/${from}` }));
  const places = new Map([...copies, ...samples, ...pages].map(({ from, to }) => [from, to]));
  // Folders have a place, too: pages link to them.
  for (const [from, to] of Object.entries({ ...AS_THEY_ARE, ...RENAMED })) places.set(from, to);
  const page = (from: string, to: string): string =>
    linkedWithin(readFileSync(join(root, from), 'utf8'), from, to, places);
  const upgrading = `${DOC}/UPGRADING.md`;
  return [
    ...copies,
    ...samples,
    ...pages.map(({ from, to }) => ({ to, content: page(from, to) })),
    { to: upgrading, content: page('config/deploy/UPGRADING.md', upgrading) },
    { to: `${DOC}/changelog.gz`, content: zipped(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) },
    { to: `${DOC}/changelog.Debian.gz`, content: zipped(debianChangelog(edition)) },
    { to: 'usr/share/bash-completion/completions/longshore', content: bashCompletion() },
    { to: 'usr/share/zsh/vendor-completions/_longshore', content: zshCompletion() },
    { to: 'usr/share/fish/vendor_completions.d/longshore.fish', content: fishCompletion() },
    ...Object.entries(manPages({ version: edition.version, date: edition.date.toISOString().slice(0, 10) })).map(
      ([name, text]) => ({ to: `usr/share/man/man1/${name}.gz`, content: zipped(text) }),
    ),
  ].sort((a, b) => (a.to < b.to ? -1 : 1));
}

/** As `gzip -9n` does it: no name and no time, so that the same text gives the same bytes. */
const zipped = (text: string): Uint8Array => gzipSync(text, { level: 9 });

const debianChangelog = ({ debianVersion, maintainer, date }: PackageEdition): string =>
  `longshore (${debianVersion}) unstable; urgency=medium

  * Built from the sources of the date below; changelog.gz says what changed.

 -- ${maintainer}  ${date.toUTCString().replace('GMT', '+0000')}
`;

/**
 * The text of a page with its links adapted to the package. A link to something that is not in the package becomes plain text:
 * an operator has no source tree.
 * @param places paths in the package by paths in the source tree
 */
export function linkedWithin(text: string, from: string, to: string, places: ReadonlyMap<string, string>): string {
  const parts = text.split(/(^```[\s\S]*?^```$)/m);
  return parts
    .map((part, at) => (at % 2 === 1 ? part : part.replaceAll(LINK, (...found: string[]) => adapted(found))))
    .join('');

  function adapted([whole = '', words = '', target = '']: readonly string[]): string {
    const [path = '', anchor] = target.split('#');
    if (path === '' || /^(https?|mailto):/.test(target)) return whole;
    const place = places.get(posix.join(dirname(from), path));
    if (place === undefined) return words;
    const kept = anchor !== undefined && place.endsWith('.md') ? `#${anchor}` : '';
    return `[${words}](${posix.relative(dirname(to), place)}${kept})`;
  }
}

const LINK = /\[([^\]]*)\]\(([^)\s]+)\)/g;
