// Large datasets: the files of an import go to the first install as they are. Whatever scripts do to what they are given, nobody
// else sees it.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { ReceivedFiles } from '../../../actors/plugin-host/received-files.ts';
import type { ObjectFile } from '../../../actors/tasks/task-map.ts';
import type { DatasetId, TargetId } from '../../../engine/model/ids.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { ALPHA, BETA, imported, meta, run, setup, type World } from './ways-to-call.ts';

const never = new AbortController().signal;

const TEXT = 'PF3D7_0100100\n'.repeat(700_000);
/** A later file may have the same inode, but not the same time of birth. */
const IDENTITY = 'file %i %w';
const LOOK = `stat -c '${IDENTITY}' "$2"/a.txt >>"$PROJECT_HOME"/seen`;
const SPOILS =
  'echo changed >>"$2"/a.txt; echo x >"$2"/more.txt; chmod 700 "$2"/a.txt; ln -f "$2"/a.txt "$PROJECT_HOME"/';
const ofInput = (script: string): string => script.replaceAll('"$2"', '"$1"');

t.test('the files that an import wrote go to the first install, and unpacked ones to the next', async (t) => {
  const world = await setup(t, 'in place');
  const payload = await importOf(t, world, `cp "$1"/a.txt "$2"/; ${LOOK}`);
  for (const target of [ALPHA, BETA]) t.match(await install(world, payload, target, LOOK), { kind: 'success' });
  const [output, first, second] = await seenFiles(world);
  t.equal(first, output, 'the same file');
  t.not(second, output);
  t.same(await world.scratch(), [], 'nothing is left');
  t.same(await installed(world), { [ALPHA]: digest(TEXT), [BETA]: digest(TEXT) });
});

t.test('what scripts do to their files changes neither stored objects nor the files of others', async (t) => {
  const world = await setup(t, 'in place');
  const payload = await importOf(t, world, ofInput(SPOILS));
  const before = await world.stored(payload.key);
  t.match(await install(world, payload, ALPHA, SPOILS), { kind: 'success' });
  t.match(await install(world, payload, BETA, ':'), { kind: 'success' });
  t.ok((await world.stored(payload.key)).equals(before));
  t.ok((await world.stored('1/large/import-ready.zip')).equals(await zipOf({ 'a.txt': TEXT })));
  const [alpha, beta] = [`${TEXT}changed\nchanged\n`, `${TEXT}changed\n`];
  t.same(await installed(world), { [ALPHA]: digest(alpha), [BETA]: digest(beta) });
});

t.test('files that the import has linked elsewhere are unpacked for the install', async (t) => {
  const world = await setup(t, 'in place');
  const payload = await importOf(t, world, `cp "$1"/a.txt "$2"/; ln "$2"/a.txt "$PROJECT_HOME"/mine; ${LOOK}`);
  const script = `echo changed >>"$PROJECT_HOME"/mine; ${LOOK}`;
  t.match(await install(world, payload, ALPHA, script), { kind: 'success' });
  const [output, first] = await seenFiles(world);
  t.not(first, output);
  t.same(await installed(world), { [ALPHA]: digest(TEXT) });
});

t.test('received files become the input of the import when the store has removed them', async (t) => {
  const world = await setup(t, 'in place');
  const raw = await world.put('1/large/raw/a.txt', Buffer.from(TEXT), 'a.txt');
  const zip = await world.put('1/large/import-ready.zip', await zipOf({ 'a.txt': TEXT }), 'import-ready.zip');
  const options = { trees: world.host.trees, store: world.objects, plugins: ['test'], log: silentLogger() };
  const received = new ReceivedFiles(options);
  t.notOk(await received.link('another plugin', zip, [raw], never));
  for (const other of [
    { zip: { ...zip, etag: 'other' }, raw },
    { zip, raw: { ...raw, etag: 'other' } },
    { zip, raw: { ...raw, key: '1/large/raw/b.txt' } },
  ])
    t.notOk(await received.link('test', other.zip, [other.raw], never), 'what was packed is not there any more');
  const { localFile: _, ...elsewhere } = world.objects;
  t.notOk(await new ReceivedFiles({ ...options, store: elsewhere }).link('test', zip, [raw], never));
  t.same(await world.scratch(), []);

  const file = world.objects.localFile?.(raw.key) ?? '';
  const { stdout } = await promisify(execFile)('stat', ['-c', IDENTITY, file]);
  const linked = await received.link('test', zip, [raw], never);
  await world.discard(raw.key);
  await linked?.keep();
  await world.script('dataCleaning', 'large', `${ofInput(LOOK)}; ${ofInput(SPOILS)}`);
  const { payload: _again, ...input } = await imported(world, 'other');
  const call = { ...input, dataset: 'large' as DatasetId, payload: zip };
  t.match(await run(world, 'import-dataset', call), { kind: 'success' });
  t.same(await seenFiles(world), [stdout.trim()]);
  t.ok((await world.stored(zip.key)).equals(await zipOf({ 'a.txt': TEXT })));
});

/** Runs an import, and stores what it made. */
async function importOf(t: Test, world: World, script: string): Promise<ObjectFile> {
  await world.script('dataCleaning', 'large', script);
  const input = await imported(world, 'large', {}, await zipOf({ 'a.txt': TEXT }));
  t.match(await run(world, 'import-dataset', input), { kind: 'success' });
  return world.moveIn('1/large/install-ready.zip', join(world.scratchDir, 'install-ready.zip'), 'install-ready.zip');
}

async function install(world: World, payload: ObjectFile, target: TargetId, script: string): Promise<unknown> {
  await world.script('dataInstall', 'large', script);
  return run(world, 'install-data', { ...(await meta(world, 'large')), manifest: '{}', payload, target });
}

/** The files that scripts were given or wrote. */
const seenFiles = async (world: World): Promise<readonly string[]> =>
  [...(await world.seen()).matchAll(/file \d+ \d{4}-.*/g)].map(([file]) => file);

/** The files have 10 MB: a test that fails would print them. */
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Digests, by target. */
async function installed(world: World): Promise<Record<string, string>> {
  const { tree } = (await world.installed()) as { tree: Readonly<Record<string, string>> };
  const found: Record<string, string> = {};
  for (const [path, text] of Object.entries(tree))
    for (const target of [ALPHA, BETA])
      if (path.includes(`/${target}/`) && path.endsWith('/a.txt')) found[target] = digest(text);
  return found;
}
