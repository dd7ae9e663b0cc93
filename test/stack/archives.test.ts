// Random folders, packed by the programs that people use, unpacked by us and by two of those programs: the same names with
// the same bytes, or a refusal by a rule that the folder breaks.
//   LONGSHORE_ARCHIVES=2000 LONGSHORE_SEED=7 node test/run/suite.ts --suite stack test/stack/archives.test.ts

import { execFile } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { ArchiveNotes } from '../../engine/archive/archive-entry.ts';
import { readTarGz } from '../../engine/archive/tar-reader.ts';
import { unpackTo } from '../../engine/archive/unpack.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import { isDesktopJunk } from '../../engine/model/file-name.ts';

const COUNT = Number(process.env.LONGSHORE_ARCHIVES ?? 60);
const SEED = Number(process.env.LONGSHORE_SEED ?? Date.now() % 1_000_000);
const signal = new AbortController().signal;
const limits = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 10_000 };
const env = { ...process.env, LC_ALL: 'C.UTF-8' };

/** With nothing to read: zip takes a file named `-` for its own input, and would wait for it. */
function run([program, args]: readonly [string, readonly string[]], cwd: string): Promise<unknown> {
  const running = promisify(execFile)(program, args, { cwd, env });
  running.child.stdin?.end();
  return running;
}

const PYTHON_TAR = `
import sys, tarfile
with tarfile.open(sys.argv[1], 'w:gz', format=getattr(tarfile, sys.argv[2] + '_FORMAT')) as tar: tar.add('.', arcname='.')`;
const PYTHON_ZIP = `
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:
    for folder, _, files in os.walk('.'):
        for name in files: z.write(os.path.join(folder, name))`;

type Command = (archive: string) => readonly [string, readonly string[]];
/** Run in the folder that is packed. */
const PACKERS: Readonly<Record<string, { readonly kind: 'tgz' | 'zip'; readonly command: Command }>> = {
  ...Object.fromEntries(
    ['gnu', 'oldgnu', 'pax', 'ustar', 'v7'].map((format) => [
      `GNU tar, ${format}`,
      { kind: 'tgz', command: (archive: string) => ['tar', [`--format=${format}`, '-czf', archive, '.']] },
    ]),
  ),
  'bsdtar, tar': { kind: 'tgz', command: (archive) => ['bsdtar', ['-czf', archive, '.']] },
  'bsdtar, ustar': { kind: 'tgz', command: (archive) => ['bsdtar', ['--format', 'ustar', '-czf', archive, '.']] },
  'bsdtar, zip': { kind: 'zip', command: (archive) => ['bsdtar', ['--format', 'zip', '-cf', archive, '.']] },
  'tarfile, GNU': { kind: 'tgz', command: (archive) => ['/usr/bin/python3', ['-c', PYTHON_TAR, archive, 'GNU']] },
  'tarfile, PAX': { kind: 'tgz', command: (archive) => ['/usr/bin/python3', ['-c', PYTHON_TAR, archive, 'PAX']] },
  zipfile: { kind: 'zip', command: (archive) => ['/usr/bin/python3', ['-c', PYTHON_ZIP, archive]] },
  zip: { kind: 'zip', command: (archive) => ['zip', ['-qry', archive, '.']] },
  '7zz': { kind: 'zip', command: (archive) => ['7zz', ['a', '-tzip', '-bd', '-snl', archive, '.']] },
  jar: { kind: 'zip', command: (archive) => ['jar', ['cfM', archive, '.']] },
};
const UNPACKERS: Readonly<
  Record<
    'tgz' | 'zip',
    Readonly<Record<string, (archive: string, dir: string) => readonly [string, readonly string[]]>>
  >
> = {
  tgz: {
    'GNU tar': (archive, dir) => ['tar', ['-xzf', archive, '-C', dir]],
    bsdtar: (archive, dir) => ['bsdtar', ['-xf', archive, '-C', dir]],
  },
  zip: {
    bsdtar: (archive, dir) => ['bsdtar', ['-xf', archive, '-C', dir]],
    '7zz': (archive, dir) => ['7zz', ['x', '-bd', '-y', `-o${dir}`, archive]],
  },
};

interface Folder {
  readonly packer: string;
  /** Content by path; undefined is a symbolic link. */
  readonly files: Readonly<Record<string, string | undefined>>;
}

const word = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-z0-9 _.-]{1,20}x$/) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'Größe',
      'данные',
      '表データ',
      '测试',
      'بيانات',
      '🧬',
      'Sj\ufffd',
      'naïve'.normalize('NFD'),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'A',
      'a',
      '.hidden',
      'x'.repeat(101),
      'ü'.repeat(60),
      'vdi-meta.json',
      "it's",
      'a=b',
      '%41',
      '#',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('.DS_Store', 'Thumbs.db', '._a', '~$b.xlsx', '__MACOSX', 'desktop.ini') },
  { weight: 1, arbitrary: fc.constantFrom('back\\slash', 'C:', 'line\nend', 'tab\t', ' ', '-', '~') },
);
const folders: fc.Arbitrary<Folder> = fc.record({
  packer: fc.constantFrom(...Object.keys(PACKERS)),
  files: fc
    .array(
      fc.tuple(
        fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('/')),
        fc.option(fc.oneof(fc.constantFrom('', 'x'.repeat(511), 'y'.repeat(70_000)), fc.string({ maxLength: 600 })), {
          freq: 30,
          nil: undefined,
        }),
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map((files) => Object.fromEntries(files)),
});

type Tree = Readonly<Record<string, string>>;
const LINK = 'a symbolic link';

const NO_FILES = /holds no files|is empty/;

/** What each refusal says, and what the folder must hold for it. */
const RULES: readonly (readonly [says: RegExp, holds: (tree: Tree) => boolean])[] = [
  [/is a link$/, (tree) => Object.values(tree).includes(LINK)],
  [/control character|line break/, (tree) => Object.keys(tree).some((path) => /[\n\t]/.test(path))],
  // zip takes what is named `-` for its own input, and stores a pipe.
  [/entry '-' is neither a file nor a folder/, (tree) => Object.keys(tree).some((path) => /^-(?:\/|$)/.test(path))],
  [/comes twice|both a file and a folder|collides/, hasTwins],
  [/drive letter/, (tree) => Object.keys(tree).some((path) => path.startsWith('C:'))],
  [NO_FILES, (tree) => Object.keys(kept(tree)).length === 0],
  [/not UTF-8/, (tree) => Object.keys(tree).some((path) => /[^ -~]/.test(path))],
  [
    /is damaged: invalid (?:relative path|characters in fileName)/,
    (tree) => Object.keys(tree).some((path) => path.includes('\\')),
  ],
];

t.test('the same names and bytes as other programs unpack, or a refusal that a rule names', async (t) => {
  t.comment(`${COUNT} archives, seed ${SEED}`);
  const tally: Record<string, number> = { same: 0, refused: 0, 'not packed': 0, 'other programs differ': 0 };
  const wrong: string[] = [];
  const root = mkdtempSync(join(tmpdir(), 'longshore-archives-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [i, folder] of fc.sample(folders, { numRuns: COUNT, seed: SEED }).entries()) {
    const dir = join(root, String(i));
    for (const name of ['in', 'ours', 'one', 'two']) mkdirSync(join(dir, name), { recursive: true });
    const outcome = await outcomeOf(folder, dir);
    if (tally[outcome] === undefined)
      wrong.push(`${i}: ${folder.packer}: ${JSON.stringify(folder.files).slice(0, 400)}: ${outcome}`);
    else tally[outcome]++;
    rmSync(dir, { recursive: true, force: true });
  }
  t.comment(JSON.stringify(tally));
  t.strictSame(wrong, []);
  t.ok((tally.same ?? 0) > COUNT / 4, 'many are unpacked');
});

async function outcomeOf({ packer: name, files }: Folder, dir: string): Promise<string> {
  const packer = PACKERS[name];
  if (!packer) throw new Error(name);
  const made = makeFiles(join(dir, 'in'), files);
  const archive = join(dir, packer.kind === 'tgz' ? 'a.tgz' : 'a.zip');
  const packed = await run(packer.command(archive), join(dir, 'in')).catch(() => undefined);
  // Of names that are too long for a format, and of links, some programs pack nothing.
  if (!packed) return 'not packed';
  const others: Promise<Tree>[] = [];
  for (const [at, command] of Object.values(UNPACKERS[packer.kind]).entries()) {
    const out = join(dir, at === 0 ? 'one' : 'two');
    others.push(
      run(command(archive, out), out)
        .catch(() => undefined)
        .then(() => readTree(out)),
    );
  }
  await Promise.all(others);
  const wanted = kept(made);
  let ours: Tree;
  try {
    const options = { limits, notes: new ArchiveNotes() };
    const read = packer.kind === 'zip' ? readZip : readTarGz;
    await unpackTo(join(dir, 'ours'), read(archive, options, signal), signal);
    ours = readTree(join(dir, 'ours'));
  } catch (error) {
    const { message } = error as Error;
    if (RULES.find(([says]) => says.test(message))?.[1](made)) return 'refused';
    // bsdtar leaves out what has too long a name for the format, and may have packed nothing but what desktops add.
    const isEmpty = (await Promise.all(others)).every((other) => Object.keys(kept(other)).length === 0);
    return isEmpty && NO_FILES.test(message) ? 'not packed' : `refused without a reason: ${message}`;
  }
  if (same(ours, wanted)) return 'same';
  // What a program packs or unpacks under another name is that program's business, as long as ours is one of the readings.
  if ((await Promise.all(others)).some((other) => same(ours, kept(other)))) return 'other programs differ';
  return `unpacked ${Object.keys(ours).join(', ')}, not ${Object.keys(wanted).join(', ')}`;
}

function hasTwins(tree: Tree): boolean {
  const paths = Object.keys(tree).flatMap((path) => {
    const parts = shownAs(path).toLowerCase().split('/');
    return [parts.join('/')];
  });
  return paths.some((path, i) => paths.some((other, j) => i !== j && (path === other || other.startsWith(`${path}/`))));
}

/** As we keep a name. */
const shownAs = (path: string): string =>
  path
    .replaceAll('\\', '/')
    .normalize('NFC')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');

const kept = (tree: Tree): Tree =>
  Object.fromEntries(
    Object.entries(tree)
      .filter(([path]) => !isDesktopJunk(path.replaceAll('\\', '/')))
      .map(([path, content]) => [shownAs(path), content]),
  );

function makeFiles(dir: string, files: Folder['files']): Tree {
  for (const [path, content] of Object.entries(files)) {
    const file = join(dir, path);
    try {
      mkdirSync(join(file, '..'), { recursive: true });
      if (content === undefined) symlinkSync('elsewhere', file);
      else writeFileSync(file, content, { flag: 'wx' });
    } catch {
      // A name that is a folder already, or two that the file system takes for one.
    }
  }
  return readTree(dir);
}

function readTree(dir: string): Tree {
  const found: Record<string, string> = {};
  const visit = (folder: string): void => {
    for (const name of readdirSync(join(dir, folder))) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const stats = lstatSync(join(dir, path));
      if (stats.isDirectory()) visit(path);
      else found[path] = stats.isSymbolicLink() ? LINK : readFileSync(join(dir, path)).toString('latin1');
    }
  };
  visit('');
  return found;
}

function same(one: Tree, other: Tree): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
