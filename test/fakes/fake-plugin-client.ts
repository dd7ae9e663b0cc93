// A plugin server in memory: keeps what it is given, and says what the test wants it to say.

import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import { writeZip } from '../../engine/archive/zip-writer.ts';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata, FileEntry } from '../../engine/model/metadata.ts';
import type {
  ImportReply,
  InstallReply,
  PluginClient,
  PluginFailure,
  StreamedFile,
  UninstallReply,
  Validation,
} from '../../engine/ports/plugin-client.ts';
import { aborted, defect, messageOf } from '../../engine/runtime/failure.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';

export interface FakePluginCall {
  readonly kind: 'import' | 'installData' | 'installMeta' | 'installFiles' | 'uninstall' | 'uninstallFiles';
  readonly eventId: number;
  readonly dataset: DatasetId;
  /** Absent for imports. */
  readonly target?: TargetId;
}

/** What a call ends with; a kind of end that the call does not know is a defect of the test. */
export type FakeOutcome =
  | { readonly kind: 'success'; readonly validation?: Validation }
  | { readonly kind: 'invalid'; readonly validation: Validation }
  | { readonly kind: 'missing-dependency'; readonly messages: readonly string[] }
  | PluginFailure;

export interface FakeInstallation {
  readonly metadata: DatasetMetadata;
  /** Files of the payload; empty while only metadata is installed. */
  readonly files: readonly FileEntry[];
  readonly properties: readonly string[];
}

const NOTHING: Validation = { basic: [], community: [] };
const LIMITS = { maxTotalBytes: 2 ** 32, maxFileBytes: 2 ** 32, maxEntries: MAX_ENTRIES };

export class FakePluginClient implements PluginClient {
  /** In the order in which they began. */
  readonly calls: FakePluginCall[] = [];
  /** By `{target}/{dataset}`. */
  readonly installed = new Map<string, FakeInstallation>();
  /** What failed installs left, by `{target}/{dataset}`: only an uninstall takes it away. */
  readonly left = new Set<string>();
  /** By `{data schema}/{dataset}`: whose rows, all or some, are there. */
  readonly rows = new Set<string>();
  /** Installs over rows that were there, as in `rows`: a plugin's primary keys would refuse them. */
  readonly doubled: string[] = [];
  /** The data schema of a target; each has its own unless the test says otherwise. */
  schemaOf: (target: TargetId) => string = (target) => target;
  /** Decides each call; may throw, or wait for the signal. Success when undefined. */
  decide: (call: FakePluginCall, signal: AbortSignal) => Promise<FakeOutcome | undefined> | FakeOutcome | undefined;

  constructor(decide: FakePluginClient['decide'] = () => undefined) {
    this.decide = decide;
  }

  /** The reply holds the payload's files as they are. */
  import: PluginClient['import'] = async (call, signal) => {
    const { eventId, dataset } = call;
    await using temp = await tempFolder();
    const payload = join(temp.path, 'payload.zip');
    await writeFile(payload, await readAll(call.payload, signal));
    const outcome = await this.#begin({ kind: 'import', eventId, dataset }, signal);
    if (outcome.kind === 'missing-dependency') throw defect('an import cannot end with missing-dependency');
    if (outcome.kind !== 'success') return outcome satisfies ImportReply;
    const files = await listZip(payload, signal);
    const { basic, community } = outcome.validation ?? NOTHING;
    const documents = {
      'vdi-manifest.json': { rawUploads: files, installReady: files, documentFiles: [], dataProperties: [] },
      'warnings.json': { isValid: true, basicValidation: basic, communityValidation: community },
    };
    const sources = Object.entries(documents).map(([path, document]) => {
      const body = Buffer.from(JSON.stringify(document));
      return { path, size: body.length, body };
    });
    const data = { path: 'data.zip', size: call.payload.size, body: createReadStream(payload) };
    await writeZip(call.replyFile, [...sources, data], { level: 0 }, signal);
    return { kind: 'success', replyFile: call.replyFile };
  };

  installData: PluginClient['installData'] = async (call, signal) => {
    const { eventId, dataset, target } = call;
    await using temp = await tempFolder();
    const payload = join(temp.path, 'payload.zip');
    await writeFile(payload, await readAll(call.payload, signal));
    for (const file of call.properties) await readAll(file, signal);
    const outcome = await this.#begin({ kind: 'installData', eventId, dataset, target }, signal);
    const rows = `${this.schemaOf(target)}/${dataset}`;
    if (outcome.kind !== 'missing-dependency') {
      if (this.rows.has(rows)) this.doubled.push(rows);
      this.rows.add(rows);
    }
    if (outcome.kind === 'script-error' || outcome.kind === 'invalid') this.left.add(`${target}/${dataset}`);
    if (outcome.kind !== 'success') return outcome;
    const files = await listZip(payload, signal);
    this.installed.set(`${target}/${dataset}`, { metadata: call.metadata, files, properties: [] });
    return { kind: 'success', validation: outcome.validation ?? NOTHING };
  };

  installMeta: PluginClient['installMeta'] = async (call, signal): Promise<InstallReply> => {
    const { eventId, dataset, target, metadata } = call;
    for (const file of call.properties) await readAll(file, signal);
    const outcome = await this.#begin({ kind: 'installMeta', eventId, dataset, target }, signal);
    if (outcome.kind !== 'success') return outcome;
    const files = this.installed.get(`${target}/${dataset}`)?.files ?? [];
    const properties = call.properties.map((file) => file.name);
    this.installed.set(`${target}/${dataset}`, { metadata, files, properties });
    return { kind: 'success', validation: outcome.validation ?? NOTHING };
  };

  uninstall: PluginClient['uninstall'] = async (call, signal): Promise<UninstallReply> => {
    const { eventId, dataset, target } = call;
    const outcome = await this.#begin({ kind: 'uninstall', eventId, dataset, target }, signal);
    if (outcome.kind === 'invalid' || outcome.kind === 'missing-dependency')
      throw defect(`an uninstall cannot end with ${outcome.kind}`);
    if (outcome.kind !== 'success') return outcome;
    this.rows.delete(`${this.schemaOf(target)}/${dataset}`);
    this.installed.delete(`${target}/${dataset}`);
    this.left.delete(`${target}/${dataset}`);
    return { kind: 'success' };
  };

  installFiles: PluginClient['installFiles'] = async (call, signal): Promise<InstallReply> => {
    const { eventId, dataset, target, source, metadata } = call;
    const outcome = await this.#begin({ kind: 'installFiles', eventId, dataset, target }, signal);
    if (outcome.kind !== 'success') return outcome;
    const files = this.installed.get(`${source}/${dataset}`)?.files;
    const rows = `${this.schemaOf(target)}/${dataset}`;
    if (!files || this.schemaOf(source) !== this.schemaOf(target) || !this.rows.has(rows))
      return { kind: 'server-error', message: `${source} has nothing of ${dataset} to share with ${target}` };
    this.installed.set(`${target}/${dataset}`, { metadata, files, properties: [] });
    return { kind: 'success', validation: NOTHING };
  };

  uninstallFiles: PluginClient['uninstallFiles'] = async (call, signal): Promise<UninstallReply> => {
    const { eventId, dataset, target } = call;
    const outcome = await this.#begin({ kind: 'uninstallFiles', eventId, dataset, target }, signal);
    if (outcome.kind === 'invalid' || outcome.kind === 'missing-dependency')
      throw defect(`an uninstall cannot end with ${outcome.kind}`);
    if (outcome.kind !== 'success') return outcome;
    this.installed.delete(`${target}/${dataset}`);
    this.left.delete(`${target}/${dataset}`);
    return { kind: 'success' };
  };

  async probe(signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
  }

  async #begin(call: FakePluginCall, signal: AbortSignal): Promise<FakeOutcome> {
    throwIfAborted(signal);
    this.calls.push(call);
    const deciding = Promise.resolve(this.decide(call, signal));
    const outcome = await unlessAborted(deciding, signal).catch((error: unknown) => {
      throwIfAborted(signal);
      throw error;
    });
    return outcome ?? { kind: 'success' };
  }
}

async function tempFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'longshore-fake-plugin-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function readAll(file: StreamedFile, signal: AbortSignal): Promise<Buffer> {
  throwIfAborted(signal);
  const chunks: Buffer[] = [];
  for await (const chunk of await file.open(signal)) chunks.push(chunk as Buffer);
  const all = Buffer.concat(chunks);
  if (all.length !== file.size) throw defect(`'${file.name}' has ${all.length} bytes instead of its ${file.size}`);
  return all;
}

async function listZip(file: string, signal: AbortSignal): Promise<FileEntry[]> {
  const files: FileEntry[] = [];
  for await (const { path, size } of readZip(file, { limits: LIMITS }, signal)) files.push({ name: path, size });
  return files;
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw aborted(`plugin call ended: ${messageOf(signal.reason)}`, { cause: signal.reason });
}
