// What goes into the Debian package. test/binary/debian-package.test.ts installs the package itself.

import { posix } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { linkedWithin, packageFiles } from '../../../bin/build/package-files.ts';
import { allCommands } from '../../../bin/cli/command-table.ts';
import { anchors, links, ROOT } from '../../support/readmes.ts';

const files = packageFiles(ROOT, {
  version: '1.2.3',
  debianVersion: '1.2.3-4',
  maintainer: 'A Person <person@lab.example>',
  date: new Date('2026-01-31T10:00:00Z'),
});
const at = new Map(files.map((file) => [file.to, file]));
const textOf = (to: string): string => {
  const file = at.get(to);
  if (!file || !('content' in file)) throw new Error(`${to} has no text`);
  return typeof file.content === 'string' ? file.content : gunzipSync(file.content).toString();
};

/** A file, or a folder with files. */
const isThere = (place: string): boolean => at.has(place) || files.some(({ to }) => to.startsWith(`${place}/`));

t.test('every link of every page leads to a file of the package, and to a heading of it', async (t) => {
  const pages = files.map(({ to }) => to).filter((to) => to.endsWith('.md'));
  t.ok(pages.length > 20);
  const dead = pages.flatMap((page) =>
    links({ file: page, text: textOf(page) })
      .filter((target) => !/^(https?|mailto):/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#');
        const place = path === '' ? page : posix.join(posix.dirname(page), path);
        return !isThere(place) || (anchor !== undefined && !anchors(textOf(place)).includes(anchor));
      })
      .map((target) => `${page}: ${target}`),
  );
  t.strictSame(dead, []);
});

t.test('the page about metrics leads to the alert rules and to the dashboard', async (t) => {
  const found = links({ file: '', text: textOf('usr/share/doc/longshore/docs/metrics.md') });
  for (const place of ['prometheus', 'grafana/longshore.json'])
    t.ok(found.includes(`../../../longshore/${place}`), place);
});

t.test('links are adapted to the package, and become text where nothing is behind them', async (t) => {
  const places = new Map([
    ['docs/a.md', 'usr/share/doc/x/docs/a.md'],
    ['CHANGELOG.md', 'usr/share/doc/x/changelog.gz'],
  ]);
  const page = (text: string): string => linkedWithin(text, 'config/b.md', 'usr/share/doc/x/b.md', places);
  t.equal(page('See [a](../docs/a.md#part).'), 'See [a](docs/a.md#part).');
  t.equal(page('See [a](../CHANGELOG.md#part).'), 'See [a](changelog.gz).');
  t.equal(page('See [its tests](../test/b.test.ts).'), 'See its tests.');
  t.equal(page('See [a](https://lab.example/a) and [b](#b).'), 'See [a](https://lab.example/a) and [b](#b).');
  t.equal(page('```\n[a](../none.md)\n```\n'), '```\n[a](../none.md)\n```\n', 'blocks stay as they are');
});

t.test('it has what operators look for, where they look for it', async (t) => {
  for (const to of [
    'usr/bin/longshore',
    'usr/lib/systemd/system/longshore.service',
    'usr/lib/systemd/system/longshore-plugin@.service',
    'usr/lib/tmpfiles.d/longshore.conf',
    'usr/share/bash-completion/completions/longshore',
    'usr/share/zsh/vendor-completions/_longshore',
    'usr/share/fish/vendor_completions.d/longshore.fish',
    'usr/share/longshore/prometheus/alerts.rules.yaml',
    'usr/share/longshore/prometheus/recording.rules.yaml',
    'usr/share/longshore/grafana/longshore.json',
    'usr/share/doc/longshore/README.md',
    'usr/share/doc/longshore/docs/commands.md',
    'usr/share/doc/longshore/config/REFERENCE.md',
    'usr/share/doc/longshore/copyright',
    'usr/share/doc/longshore/changelog.gz',
    'usr/share/doc/longshore/changelog.Debian.gz',
    'usr/share/man/man1/longshore.1.gz',
    ...allCommands().map(({ name }) => `usr/share/man/man1/longshore-${name.replaceAll(' ', '-')}.1.gz`),
  ])
    t.ok(at.has(to), to);
});

t.test('the changelog of Debian names version, maintainer and date', async (t) => {
  const text = textOf('usr/share/doc/longshore/changelog.Debian.gz');
  t.match(text, /^longshore \(1\.2\.3-4\) unstable; urgency=medium\n/);
  t.match(text, /\n -- A Person <person@lab\.example> {2}Sat, 31 Jan 2026 10:00:00 \+0000\n$/);
});
