// Archives that mean harm, sent to be imported and to be installed: each is refused by name, nothing of it is left and
// nothing outside was touched. Beside them odd ones that mean none.

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { writeZip } from '../../../engine/archive/zip-writer.ts';
import { type RawZipEntry, rawZip, zipOf } from '../../fixtures/archives.ts';
import { readTree } from './host-setup.ts';
import { openDescriptors, scriptedHost } from './scripted-host.ts';

const MIB = 1024 * 1024;
const FOLDER = { content: '', mode: 0o040755 };
const LINK = { mode: 0o120777, method: 0 };
const archive = (...entries: RawZipEntry[]): Buffer => rawZip([{ name: 'a.txt', content: 'alpha' }, ...entries]);
/** Writes outside of the folder where the archive is unpacked go here. */
const OUTSIDE = '../outside';

const REFUSED: readonly (readonly [what: string, zip: Buffer, message: RegExp])[] = [
  ['a path that climbs out', archive({ name: `${OUTSIDE}/x` }), /^entry '\.\.\/outside\/x' has '\.\.' in its path$/],
  ['one that climbs out from inside', archive({ name: 'sub/../../x' }), /^entry .* has '\.\.' in its path$/],
  ['a backslash', archive({ name: '..\\x' }), /^entry '\.\.\/x' has '\.\.' in its path$/],
  ['an absolute path', archive({ name: '/tmp/x' }), /^entry '\/tmp\/x' has an absolute path$/],
  ['a drive letter', archive({ name: 'C:/x' }), /^entry 'C:\/x' has a drive letter in its path$/],
  [
    'a link, and a file through it',
    archive({ name: 'dir', content: OUTSIDE, ...LINK }, { name: 'dir/x' }),
    /^entry 'dir' is a link$/,
  ],
  ['a device', archive({ name: 'null', mode: 0o020666 }), /^entry 'null' is neither a file nor a folder$/],
  ['a name that comes twice', archive({ name: 'b' }, { name: 'b' }), /^entry 'b' comes twice in the archive/],
  ['a name that comes twice in other case', archive({ name: 'A.TXT' }), /^entry 'A\.TXT' comes twice in the archive/],
  ['a file that is a folder, too', archive({ name: 'a.txt/x' }), /^entry 'a\.txt' is both a file and a folder$/],
  ['a name with NUL', archive({ name: 'x\0.txt' }), /^entry 'x\\u0000\.txt' has a NUL character in its name$/],
  ['a name that is too long', archive({ name: 'x'.repeat(1025) }), /^entry .* has a name longer than 1024 bytes$/],
  ['a trailing slash on a file', archive({ name: 'x/', content: 'lost' }), /^entry 'x\/' is a folder but has content$/],
  [
    '5 MB that say that they are 10 bytes',
    archive({ name: 'x', content: Buffer.alloc(5_000_000), size: 10 }),
    /^entry 'x' holds more than the 10 bytes that it declares$/,
  ],
  ['a bomb', archive({ name: 'x', content: Buffer.alloc(110 * MIB) }), /^entry 'x' inflates to more than 1000 times/],
  ['100,001 entries', await emptyFiles(100_001), /^the archive has 100001 entries; at most 100000 are allowed$/],
  ['encryption', archive({ name: 'x', flags: 0x801 }), /^entry 'x' is encrypted$/],
  ['a split archive', Buffer.concat([Buffer.from('PK\x07\x08'), archive()]), /^the archive is one part of a split zip/],
  ['an empty archive', rawZip([]), /^the archive is empty$/],
  ['folders alone', rawZip([{ name: 'x/', ...FOLDER }]), /^the archive holds no files$/],
  ['an archive that is cut off', archive().subarray(0, 60), /^the archive is damaged/],
  ['no archive', Buffer.from('just text'), /^the archive is not a zip file$/],
];

async function emptyFiles(count: number): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const file = join(dir, 'many.zip');
  const body = new Uint8Array();
  const sources = Array.from({ length: count }, (_, i) => ({ path: `d${i % 100}/${i}`, size: 0, body }));
  await writeZip(file, sources, { level: 0 }, new AbortController().signal);
  const zip = await readFile(file);
  await rm(dir, { recursive: true });
  return zip;
}

async function setup(t: Test) {
  const host = await scriptedHost(t);
  t.equal((await host.call('import', 'warm-up')).status, 200);
  await host.settled(Number.POSITIVE_INFINITY);
  const before = (await openDescriptors()).length;
  return { host, before };
}

for (const call of ['import', 'install/data'] as const)
  t.test(`${call}: each hostile archive is refused, and nothing is left of it`, async (t) => {
    const { host, before } = await setup(t);
    const scripts = { dataCleaning: ': >../ran; exit 1', dataInstall: ': >../ran; exit 1' };
    // Marks of the host's own, by the names of datasets (install-folder.ts), are no work of the archive.
    const folders = async () => (await readdir(join(host.workDir, '..'))).filter((name) => name !== 'clear');
    const around = async () => [await readdir(host.dir), await folders()];
    for (const [i, [what, zip, message]] of REFUSED.entries()) {
      const [scriptFiles = [], others] = await around();
      const { status, json } = await host.call(call, `row-${i}`, scripts, { zip });
      t.match({ status, json }, { status: 400, json: { message } }, what);
      await host.settled(before);
      t.strictSame(
        await around(),
        [[...scriptFiles, `dataCleaning-row-${i}`, `dataInstall-row-${i}`].sort(), others],
        `${what}: nothing was written outside`,
      );
    }
    t.strictSame((await readTree(host.site)) ?? {}, {});
    t.match(await host.metrics.text(), /import_script_executions_total\{plugin="test",exit_status="success"\} 1\n/);
    t.notMatch(await host.metrics.text(), /exit_status="unknown"/, 'no script ran');
  });

t.test('odd archives that mean no harm are unpacked', async (t) => {
  const { host, before } = await setup(t);
  const deep = `${'deep/'.repeat(60)}x`;
  const odd: readonly (readonly [zip: Buffer, expected: Readonly<Record<string, string>>])[] = [
    [archive({ name: 'sub/', ...FOLDER }, { name: 'sub/b', content: 'b' }), { 'a.txt': 'alpha', 'sub/b': 'b' }],
    [archive({ name: deep, content: 'x' }), { 'a.txt': 'alpha', [deep]: 'x' }],
    [await zipOf({ 'a.txt': 'alpha', 'b/c': 'c' }, { zip64: true }), { 'a.txt': 'alpha', 'b/c': 'c' }],
    [archive({ name: './b//c', content: 'c' }, { name: '__MACOSX/._a' }), { 'a.txt': 'alpha', 'b/c': 'c' }],
    [archive({ name: '-rf *$(id)`id`', content: 'c' }), { 'a.txt': 'alpha', '-rf *$(id)`id`': 'c' }],
    [archive({ name: 'empty', content: '' }), { 'a.txt': 'alpha', empty: '' }],
  ];
  for (const [i, [zip, expected]] of odd.entries()) {
    t.equal((await host.call('install/data', `odd-${i}`, {}, { zip })).status, 200);
    const { 'vdi-meta.json': meta, ...files } = (await readTree(join(host.site, `odd-${i}`))) ?? {};
    t.ok(meta);
    t.strictSame(files, expected);
  }
  await host.settled(before);
});
