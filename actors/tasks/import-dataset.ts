// Thread side of the import lane: streams the upload to the plugin and splits its reply.

import { createHash, type Hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ArchiveEntry, detectArchiveFile } from '../../engine/archive/archive-entry.ts';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import { readZip } from '../../engine/archive/zip-reader.ts';
import type { StoredArchive } from '../../engine/model/digest.ts';
import { isObject } from '../../engine/model/json.ts';
import { type DatasetMetadata, type Manifest, parseManifest } from '../../engine/model/metadata.ts';
import { decodeDocument } from '../../engine/model/utf8.ts';
import type { PluginCall, PluginFailure, Validation } from '../../engine/ports/plugin-client.ts';
import { defect, Failure, kindOf } from '../../engine/runtime/failure.ts';
import { type ObjectFile, pluginOf, streamed, type TaskContext } from './task-map.ts';

export interface ImportDatasetInput extends PluginCall {
  readonly plugin: string;
  readonly metadata: DatasetMetadata;
  readonly payload: ObjectFile;
  readonly scratchDir: string;
}

export type ImportDatasetOutput =
  /** `dataFile` is the install-ready archive, in the scratch folder. */
  | {
      readonly kind: 'success';
      readonly manifest: Manifest;
      readonly validation: Validation;
      readonly dataFile: string;
      /** Size and digest of that archive; undefined = not known. */
      readonly data?: StoredArchive;
    }
  | { readonly kind: 'invalid'; readonly validation: Validation }
  | PluginFailure;

export async function importDataset(input: ImportDatasetInput, context: TaskContext): Promise<ImportDatasetOutput> {
  const reply = await pluginOf(context, input.plugin).import(
    {
      eventId: input.eventId,
      dataset: input.dataset,
      traceparent: input.traceparent,
      metadata: input.metadata,
      payload: streamed(input.payload, context),
      replyFile: join(input.scratchDir, 'reply.zip'),
    },
    context.signal,
  );
  if (reply.kind !== 'success') return reply;
  const { manifest, validation, dataFile, data } = await splitImportReply(
    { replyFile: reply.replyFile, scratchDir: input.scratchDir },
    context,
  );
  const sums = await digestsIn(dataFile, context.signal);
  const installReady = manifest.installReady.map(({ name, size }) => {
    const sum = sums.get(name);
    return { name, size, ...(sum?.size === size ? { sha256: sum.sha256 } : {}) };
  });
  return { kind: 'success', manifest: { ...manifest, installReady }, validation, dataFile, data };
}

/**
 * Of the files of the archive, by name. Their digests are not taken from the plugin. None if our reader refuses the archive: the
 * plugin may read it all the same.
 */
async function digestsIn(file: string, signal: AbortSignal): Promise<ReadonlyMap<string, StoredArchive>> {
  const sums = new Map<string, StoredArchive>();
  try {
    for await (const { path, size, body } of readZip(file, { limits: LIMITS }, signal)) {
      const hash = createHash('sha256');
      for await (const chunk of body) hash.update(chunk);
      sums.set(path, { size, sha256: hash.digest('hex') });
    }
    return sums;
  } catch (error) {
    if (kindOf(error) !== 'rejected') throw error;
    return new Map();
  }
}

// Thread side of the import lane: splits a plugin's import reply (vdi-manifest.json, warnings.json, data.zip).

interface SplitImportReplyInput {
  readonly replyFile: string;
  /** Exclusive to this task; exists; the caller removes it. */
  readonly scratchDir: string;
}

export interface ImportReplyParts {
  readonly manifest: Manifest;
  /** Warnings; empty when the plugin sent none. */
  readonly validation: Validation;
  /** The install-ready archive, in the scratch folder. */
  readonly dataFile: string;
  readonly data: StoredArchive;
}

const MAX_JSON_BYTES = 16 * 1024 * 1024;
/** The plugin is trusted with the size of its data; the object store and the disk have their own limits. */
const LIMITS = {
  maxTotalBytes: Number.MAX_SAFE_INTEGER,
  maxFileBytes: Number.MAX_SAFE_INTEGER,
  maxEntries: MAX_ENTRIES,
};

/** Any error in the reply is the plugin's fault: a `defect`. Entries with other names are ignored. */
export async function splitImportReply(
  input: SplitImportReplyInput,
  { signal }: Pick<TaskContext, 'signal'>,
): Promise<ImportReplyParts> {
  const dataFile = join(input.scratchDir, 'install-ready.zip');
  let manifest: Manifest | undefined;
  let validation: Validation = { basic: [], community: [] };
  let data: StoredArchive | undefined;
  try {
    for await (const entry of readZip(input.replyFile, { limits: LIMITS }, signal)) {
      if (entry.path === 'vdi-manifest.json') manifest = parseManifest(await readText(entry), entry.path);
      else if (entry.path === 'warnings.json') validation = parseWarnings(await readText(entry));
      else if (entry.path === 'data.zip') {
        const hash = createHash('sha256');
        // Applies backpressure: awaits each write before it reads the next chunk.
        await writeFile(dataFile, hashedBy(hash, entry.body), { signal });
        data = { size: entry.size, sha256: hash.digest('hex') };
      }
    }
  } catch (error) {
    if (error instanceof Failure && error.kind === 'rejected') throw broken(error.message, error);
    throw error;
  }
  if (!manifest) throw broken('vdi-manifest.json is missing');
  if (!data) throw broken('data.zip is missing');
  if ((await detectArchiveFile(dataFile)) !== 'zip') throw broken('data.zip is not a zip file or contains no files');
  return { manifest, validation, dataFile, data };
}

async function* hashedBy(hash: Hash, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

/** For a manifest that comes without a reply: it is limited all the same. */
export const demandUsableManifest = (manifest: Manifest): void =>
  demandSize('vdi-manifest.json', Buffer.byteLength(JSON.stringify(manifest)));

function demandSize(name: string, bytes: number): void {
  if (bytes > MAX_JSON_BYTES) throw broken(`${name} has ${bytes} bytes; at most ${MAX_JSON_BYTES} are allowed`);
}

async function readText(entry: ArchiveEntry): Promise<string> {
  demandSize(entry.path, entry.size);
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry.body) chunks.push(Buffer.from(chunk));
  const text = decodeDocument(Buffer.concat(chunks));
  if (text === undefined) throw broken(`${entry.path} is not UTF-8`);
  return text;
}

/** Existing plugin servers omit default values: missing lists are empty. */
function parseWarnings(text: string): Validation {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw broken('warnings.json is not JSON', cause);
  }
  if (!isObject(raw)) throw broken('warnings.json is not an object');
  const { basicValidation, communityValidation } = raw;
  return {
    basic: messages('basicValidation', basicValidation),
    community: messages('communityValidation', communityValidation),
  };
}

function messages(field: string, raw: unknown): readonly string[] {
  if (raw === undefined || raw === null) return [];
  if (!Array.isArray(raw) || !raw.every((item) => typeof item === 'string'))
    throw broken(`warnings.json: '${field}' is not a list of strings`);
  return raw;
}

function broken(what: string, cause?: unknown): Failure {
  return defect(`the plugin's import reply cannot be used: ${what}`, { cause });
}
