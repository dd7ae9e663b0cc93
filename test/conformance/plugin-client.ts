// What every PluginClient does. The other side decides by how a dataset's id begins: `ok`, `invalid`, `broken`, `missing`
// (its dependencies), `slow` (never ends), `stuck` (cannot be uninstalled).

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Test } from 'tap';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import { writeZip } from '../../engine/archive/zip-writer.ts';
import { type DatasetId, targetId, type UserId } from '../../engine/model/ids.ts';
import { type DatasetMetadata, serialiseManifest } from '../../engine/model/metadata.ts';
import type { PluginClient, StreamedFile } from '../../engine/ports/plugin-client.ts';
import { transient } from '../../engine/runtime/failure.ts';

export const PLUGIN_TYPE = { name: 'testtype', version: '1.0' };
export const PLUGIN_TARGET = targetId('AlphaDB');
/** Shares the data schema of the other. */
const NEIGHBOUR = targetId('BetaDB');

export interface PluginClientSetup {
  readonly client: PluginClient;
  /** Resolves when the other side works on a call. */
  readonly busy: () => Promise<void>;
}

const LIMITS = { maxTotalBytes: 2 ** 32, maxFileBytes: 2 ** 32, maxEntries: MAX_ENTRIES };
const MANIFEST = serialiseManifest({ rawUploads: [], installReady: [] });

export function pluginMetadata(name: string, withDependency = false): DatasetMetadata {
  return {
    type: PLUGIN_TYPE,
    installTargets: [PLUGIN_TARGET],
    visibility: 'private',
    owner: '9223372036854775807' as UserId,
    name,
    summary: 'Größe λ',
    origin: 'direct-upload',
    created: '2024-01-01T00:00:00.000Z',
    dependencies: withDependency
      ? [{ resourceIdentifier: 'PlasmoDB-51_Genome', resourceDisplayName: 'Genome', resourceVersion: '51' }]
      : [],
    daysForApproval: -1,
  };
}

/** A zip of the files as a payload. */
export async function zipPayload(dir: string, files: Readonly<Record<string, string>>): Promise<StreamedFile> {
  const file = join(dir, 'payload.zip');
  const sources = Object.entries(files).map(([path, text]) => {
    const body = Buffer.from(text);
    return { path, size: body.length, body };
  });
  const { bytes } = await writeZip(file, sources, { level: 6 }, new AbortController().signal);
  const content = await readFile(file);
  return { name: 'payload.zip', size: bytes, open: async () => Readable.from([content]) };
}

export const textFile = (name: string, text: string): StreamedFile => ({
  name,
  size: Buffer.byteLength(text),
  open: async () => Readable.from([Buffer.from(text)]),
});

/** Contents of a zip by path. */
export async function unzip(file: string): Promise<Record<string, Buffer>> {
  const contents: Record<string, Buffer> = {};
  for await (const { path, body } of readZip(file, { limits: LIMITS }, new AbortController().signal)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    contents[path] = Buffer.concat(chunks);
  }
  return contents;
}

export function pluginClientConformance(t: Test, setup: (t: Test) => Promise<PluginClientSetup>): void {
  const signal = new AbortController().signal;

  const open = async (t: Test) => {
    const { client, busy } = await setup(t);
    const dir = t.testdir();
    const call = (dataset: string) => ({ eventId: 77, dataset: dataset as DatasetId });
    const files = { 'a.txt': 'alpha\n', 'sub/b c.txt': 'beta\n' };
    const importCall = async (dataset: string) => ({
      ...call(dataset),
      metadata: pluginMetadata(dataset),
      payload: await zipPayload(dir, files),
      replyFile: join(dir, 'reply.zip'),
    });
    const installCall = async (dataset: string) => ({
      ...call(dataset),
      target: PLUGIN_TARGET,
      metadata: pluginMetadata(dataset, dataset.startsWith('missing')),
      manifest: MANIFEST,
      payload: await zipPayload(dir, files),
      properties: [textFile('props.tsv', 'x\ty\n')],
    });
    const metaCall = (dataset: string) => ({
      ...call(dataset),
      target: PLUGIN_TARGET,
      metadata: pluginMetadata(dataset),
      properties: [textFile('props "1".tsv', 'x\ty\n'), textFile('empty.tsv', '')],
    });
    const uninstallCall = (dataset: string) => ({ ...call(dataset), target: PLUGIN_TARGET, type: PLUGIN_TYPE });
    return { client, busy, dir, importCall, installCall, metaCall, uninstallCall };
  };

  t.test('an import returns manifest, warnings and data in one zip', async (t) => {
    const { client, importCall } = await open(t);
    const call = await importCall('ok-import');
    t.same(await client.import(call, signal), { kind: 'success', replyFile: call.replyFile });
    const reply = await unzip(call.replyFile);
    t.same(Object.keys(reply).sort(), ['data.zip', 'vdi-manifest.json', 'warnings.json']);
    const manifest = JSON.parse(`${reply['vdi-manifest.json']}`);
    t.same(manifest.rawUploads, [
      { name: 'a.txt', size: 6 },
      { name: 'sub/b c.txt', size: 5 },
    ]);
    const warnings = JSON.parse(`${reply['warnings.json']}`);
    t.same(warnings, {
      isValid: true,
      basicValidation: ['one line was odd'],
      communityValidation: ['für alle λ'],
    });
  });

  t.test('an import replaces an older reply', async (t) => {
    const { client, importCall } = await open(t);
    const call = await importCall('ok-again');
    await client.import(call, signal);
    const before = await readFile(call.replyFile);
    await client.import({ ...call, ...(await importCall('ok-again')) }, signal);
    t.equal((await readFile(call.replyFile)).length, before.length);
  });

  t.test('data that the plugin refuses are invalid, with its messages', async (t) => {
    const { client, importCall, installCall, metaCall } = await open(t);
    t.same(await client.import(await importCall('invalid-1'), signal), {
      kind: 'invalid',
      validation: { basic: ['no such gene'], community: ['the list is old'] },
    });
    t.same(await client.installData(await installCall('invalid-1'), signal), {
      kind: 'invalid',
      validation: { basic: ['rows do not fit'], community: [] },
    });
    t.same(await client.installMeta(metaCall('invalid-1'), signal), {
      kind: 'invalid',
      validation: { basic: ['name is taken'], community: [] },
    });
  });

  t.test('a plugin that breaks is a script error', async (t) => {
    const { client, importCall, installCall, metaCall, uninstallCall } = await open(t);
    const replies = [
      await client.import(await importCall('broken-1'), signal),
      await client.installData(await installCall('broken-1'), signal),
      await client.installMeta(metaCall('broken-1'), signal),
      await client.uninstall(uninstallCall('stuck-1'), signal),
    ];
    t.same(
      replies.map((reply) => reply.kind),
      Array(4).fill('script-error'),
    );
    for (const reply of replies) t.match(reply, { message: /exit code [37]/ });
  });

  t.test('data are installed, their metadata too, and both taken away', async (t) => {
    const { client, installCall, metaCall, uninstallCall } = await open(t);
    t.same(await client.installData(await installCall('ok-install'), signal), {
      kind: 'success',
      validation: { basic: [], community: ['loaded'] },
    });
    t.same(await client.installMeta(metaCall('ok-install'), signal), {
      kind: 'success',
      validation: { basic: [], community: [] },
    });
    t.same(await client.uninstall(uninstallCall('ok-install'), signal), { kind: 'success' });
    t.same(await client.uninstall(uninstallCall('ok-install'), signal), { kind: 'success' });
  });

  t.test('files come to a second target of the data schema, and go from each alone', async (t) => {
    const { client, installCall, uninstallCall } = await open(t);
    const { target: source, metadata, ...call } = await installCall('ok-shared');
    await client.installData({ ...call, metadata, target: source }, signal);
    const { payload: _payload, manifest: _manifest, properties: _properties, ...plain } = call;
    const there = { ...plain, metadata, source, target: NEIGHBOUR };
    t.same(await client.installFiles(there, signal), { kind: 'success', validation: { basic: [], community: [] } });
    t.same(await client.uninstallFiles(uninstallCall('ok-shared'), signal), { kind: 'success' });
    t.same(await client.uninstallFiles(uninstallCall('ok-shared'), signal), { kind: 'success' });
    t.same(await client.uninstall({ ...uninstallCall('ok-shared'), target: NEIGHBOUR }, signal), { kind: 'success' });
  });

  t.test('a dependency that is not there is named, also where only files are to come', async (t) => {
    const { client, installCall, metaCall } = await open(t);
    const { properties: _properties, ...call } = metaCall('missing-1');
    const files = { ...call, metadata: pluginMetadata('missing-1', true), source: PLUGIN_TARGET, target: NEIGHBOUR };
    t.same(await client.installFiles(files, signal), {
      kind: 'missing-dependency',
      messages: ['PlasmoDB-51_Genome 51 is not installed'],
    });
    t.same(await client.installData(await installCall('missing-1'), signal), {
      kind: 'missing-dependency',
      messages: ['PlasmoDB-51_Genome 51 is not installed'],
    });
  });

  t.test('an abort ends a call', async (t) => {
    const { client, busy, importCall } = await open(t);
    const stop = new AbortController();
    const running = client.import(await importCall('slow-1'), stop.signal);
    await busy();
    stop.abort(new Error('shutting down'));
    await t.rejects(running, { kind: 'aborted', message: /shutting down/ });
    await t.rejects(client.import(await importCall('ok-1'), stop.signal), {
      kind: 'aborted',
      message: /shutting down/,
    });
  });

  t.test('a payload that cannot be opened fails the call with its own failure', async (t) => {
    const { client, installCall } = await open(t);
    const payload = {
      name: 'payload.zip',
      size: 10,
      open: async () => {
        throw transient('the object store is away');
      },
    };
    await t.rejects(client.installData({ ...(await installCall('ok-1')), payload }, signal), {
      kind: 'transient',
      message: 'the object store is away',
    });
  });

  t.test('a payload of another size than announced is a defect', async (t) => {
    const { client, installCall } = await open(t);
    for (const size of [3, 5]) {
      const payload = { name: 'short.zip', size, open: async () => Readable.from([Buffer.from('1234')]) };
      await t.rejects(client.installData({ ...(await installCall('ok-1')), payload }, signal), {
        kind: 'defect',
        message: /'short\.zip' has/,
      });
    }
  });

  t.test('a server that answers passes the probe', async (t) => {
    const { client } = await open(t);
    await client.probe(signal);
    t.pass();
  });
}
