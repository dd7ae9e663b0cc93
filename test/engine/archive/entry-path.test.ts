import { resolve, sep } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { checkEntryPath, EntryNames, quoteEntry } from '../../../engine/archive/entry-path.ts';

t.test('paths that are kept, as they are kept', async (t) => {
  const kept = {
    'a.txt': 'a.txt',
    'a/b/c.txt': 'a/b/c.txt',
    './a/./b//c.txt': 'a/b/c.txt',
    'a/': 'a',
    '..a/b..': '..a/b..',
    'a/C:b': 'a/C:b',
    'Ünïcode ☃/e\u0301': 'Ünïcode ☃/é',
    '.hidden': '.hidden',
    'Thumbs.db.txt': 'Thumbs.db.txt',
    'my.DS_Store': 'my.DS_Store',
    '\ufffd.txt': '\ufffd.txt',
  };
  for (const [raw, path] of Object.entries(kept)) t.strictSame(checkEntryPath(raw), { path }, raw);
});

t.test('what desktops and office programs add is dropped, and so is the root', async (t) => {
  const junk = [
    ...['__MACOSX/._a', '__MACOSX/', 'a/__MACOSX/b', '._a', 'a/._b', '.DS_Store', 'a/b/.DS_Store', '.ds_store'],
    ...['Thumbs.db', 'x/thumbs.db', 'ehthumbs.db', 'desktop.ini', 'Desktop.ini', '$RECYCLE.BIN/S-1-5/x.txt'],
    ...['~$table.xlsx', 'a/~$letter.docx', '.~lock.table.ods#', '.Spotlight-V100/x', '.Trashes/501/x', 'Icon\r'],
    ...['.fseventsd/00', 'System Volume Information/x', '.directory', '.localized', '.TemporaryItems/x'],
  ];
  for (const raw of junk) t.strictSame(checkEntryPath(raw), { dropped: 'junk' }, JSON.stringify(raw));
  for (const raw of ['./', '.']) t.strictSame(checkEntryPath(raw), { dropped: 'root' }, raw);
});

t.test('paths that are refused, and why', async (t) => {
  const refused = {
    '': 'has an empty name',
    '../a': "has '..' in its path",
    'a/../../b': "has '..' in its path",
    'a/..': "has '..' in its path",
    '/etc/passwd': 'has an absolute path',
    '//server/share': 'has an absolute path',
    'C:a': 'has a drive letter in its path',
    'c:/a': 'has a drive letter in its path',
    'a\\b': 'has a backslash in its name',
    '\\\\server\\share': 'has a backslash in its name',
    'a\0b': 'has a NUL character in its name',
    'a\ud800b': 'has half of a surrogate pair in its name',
    'a\nb': 'has a line break in its name: U+000A at position 2',
    [`${'a/'.repeat(512)}b`]: 'has a name longer than 1024 bytes',
    [`${'a/'.repeat(64)}b`]: 'lies more than 64 folders deep',
    ['ä'.repeat(128)]: 'has a file or folder name longer than 255 bytes',
  };
  for (const [raw, fault] of Object.entries(refused)) t.strictSame(checkEntryPath(raw), { fault }, raw.slice(0, 30));
  t.strictSame(checkEntryPath(`${'a'.repeat(255)}/${'b'.repeat(255)}`.padEnd(511, 'b')), {
    path: `${'a'.repeat(255)}/${'b'.repeat(255)}`,
  });
});

t.test('no path that is kept leaves the directory, whatever the name', async () => {
  const piece = fc.oneof(
    fc.constantFrom('..', '.', '', '/', '\\', 'C:', '\0', '__MACOSX', '.DS_Store'),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.constantFrom('/', '\\', ''), (pieces, separator) => {
      const check = checkEntryPath(pieces.join(separator));
      return !('path' in check) || resolve('/safe', check.path) === `/safe${sep}${check.path}`;
    }),
    { numRuns: 500 },
  );
});

t.test('a name comes once, whatever its case', async (t) => {
  const names = new EntryNames();
  names.add('Data/Read.me');
  names.add('data/other');
  t.throws(() => names.add('data/READ.ME'), { kind: 'rejected', message: /'data\/READ\.ME' comes twice/ });
  t.equal(names.count, 2);
});

t.test('a file is not a folder, in whichever order they come', async (t) => {
  const names = new EntryNames();
  names.add('a');
  t.throws(() => names.add('A/b'), { kind: 'rejected', message: /'a' is both a file and a folder/ });
  const later = new EntryNames();
  later.add('a/b/c');
  later.add('a/b');
  t.throws(() => later.finish(), { kind: 'rejected', message: /'a\/b' is both a file and a folder/ });
});

t.test('names in messages are short and printable', async (t) => {
  t.equal(quoteEntry('a "b"\n'), `'a "b"\\n'`);
  t.equal(quoteEntry('x'.repeat(300)).length, 203);
});
