import { hash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type ImportReplyParts, splitImportReply } from '../../../actors/tasks/import-dataset.ts';
import { type Files, rawZip, tarGzOf, zipOf } from '../../fixtures/archives.ts';

const signal = new AbortController().signal;
const MANIFEST = JSON.stringify({
  rawUploads: [{ name: 'a.txt', size: 5 }],
  installReady: [{ name: 'b/c.txt', size: 7 }],
  documentFiles: [],
});
const WARNINGS = JSON.stringify({ isValid: true, basicValidation: ['careful'], communityValidation: ['unusual ☃'] });

t.test('takes the reply apart', async (t) => {
  const data = await zipOf({ 'b/c.txt': 'content' });
  const parts = await split(
    t,
    await zipOf({ 'vdi-manifest.json': MANIFEST, 'warnings.json': WARNINGS, 'data.zip': data }),
  );
  const { dataFile, ...rest } = parts;
  t.strictSame(rest, {
    manifest: { rawUploads: [{ name: 'a.txt', size: 5 }], installReady: [{ name: 'b/c.txt', size: 7 }] },
    validation: { basic: ['careful'], community: ['unusual ☃'] },
    data: { size: data.length, sha256: hash('sha256', data) },
  });
  t.ok(data.equals(await readFile(dataFile)));
});

t.test('fields that existing servers leave out have their defaults', async (t) => {
  const data = await zipOf({ a: 'a' });
  const empty = { rawUploads: [], installReady: [] };
  for (const warnings of [{ 'warnings.json': '{}' }, { 'warnings.json': '{"basicValidation":null}' }, {}]) {
    const parts = await split(t, await zipOf({ 'vdi-manifest.json': '{}', ...warnings, 'data.zip': data, other: 'x' }));
    t.strictSame([parts.manifest, parts.validation], [empty, { basic: [], community: [] }]);
  }
});

t.test('a reply that cannot be used is a defect that says why', async (t) => {
  const data = await zipOf({ a: 'a' });
  const good: Files = { 'vdi-manifest.json': MANIFEST, 'warnings.json': WARNINGS, 'data.zip': data };
  const without = (name: string): Files => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
  const zip = await zipOf(good);
  const wrong: readonly [Buffer, RegExp][] = [
    [await zipOf(without('vdi-manifest.json')), /vdi-manifest\.json is missing/],
    [await zipOf(without('data.zip')), /data\.zip is missing/],
    [await zipOf({ ...good, 'vdi-manifest.json': '{"rawUploads":' }), /vdi-manifest\.json: not JSON/],
    [await zipOf({ ...good, 'warnings.json': 'oops' }), /warnings\.json is not JSON/],
    [await zipOf({ ...good, 'warnings.json': '[]' }), /warnings\.json is not an object/],
    [
      await zipOf({ ...good, 'warnings.json': '{"basicValidation":[1]}' }),
      /'basicValidation' is not a list of strings/,
    ],
    [await zipOf({ ...good, 'warnings.json': ' '.repeat(16 * 1024 * 1024 + 1) }), /warnings\.json has 16777217 bytes/],
    [await zipOf({ ...good, 'data.zip': 'no zip' }), /data\.zip is not a zip file/],
    [await zipOf({ ...good, 'data.zip': rawZip([]) }), /data\.zip is not a zip file or contains no files/],
    [rawZip([{ name: 'data.zip', content: data, crc: 1 }]), /entry 'data\.zip' is damaged/],
    [zip.subarray(0, zip.length - 10), /the archive is damaged/],
    [await tarGzOf(good), /the archive is not a zip file/],
    [Buffer.alloc(0), /the archive is not a zip file/],
  ];
  for (const [reply, message] of wrong) {
    await t.rejects(split(t, reply), { kind: 'defect', message }, String(message));
    await t.rejects(split(t, reply), { message: /^the plugin's import reply cannot be used: / });
  }
});

t.test('stops with the reason of its signal', async (t) => {
  const stop = new AbortController();
  stop.abort(new Error('enough'));
  await t.rejects(split(t, await zipOf({ 'vdi-manifest.json': MANIFEST }), stop.signal), new Error('enough'));
});

async function split(t: Test, reply: Buffer, stop = signal): Promise<ImportReplyParts> {
  const scratchDir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(scratchDir, { recursive: true }));
  const replyFile = join(scratchDir, 'reply.zip');
  await writeFile(replyFile, reply);
  return splitImportReply({ replyFile, scratchDir }, { signal: stop });
}
