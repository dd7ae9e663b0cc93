// One import: unpack, run the script, pack what it wrote (plugin wire protocol, import).
//   payload -> {workspace}/input/ (+ vdi-meta.json) --script--> {workspace}/output/ -> data file

import { rm, writeFile } from 'node:fs/promises';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import { checkEntryPath, quoteEntry } from '../../engine/archive/entry-path.ts';
import { digested } from '../../engine/model/digest.ts';
import { fileNameKey, isDesktopJunk, leftOutNote, RESERVED_PREFIX } from '../../engine/model/file-name.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import type { MetadataDocument } from '../../engine/model/plugin-requests.ts';
import { quoteBytes } from '../../engine/model/utf8.ts';
import { type CallOutcome, type Imported, validationDocument } from '../../engine/ports/plugin-client.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Archives } from '../tasks/archives.ts';
import { invalid, scriptFailure } from './call-outcomes.ts';
import type { HostedPlugin } from './hosted-plugins.ts';
import type { ScriptEnvironment } from './script-environment.ts';
import { type Scripts, scriptError, splitMessages } from './scripts.ts';
import { type UnpackedTrees, unpackPayload } from './unpacked-trees.ts';
import { type FoundFile, type FoundFiles, findFiles, METADATA, type Payload, type Workspace } from './workspace.ts';

/** Most names in the note about files that were left out. */
const MOST_NAMED = 6;
const DATA_LEVEL = 6;
/** The data is compressed already. */
const STORED = 0;

export interface ImportCall {
  readonly plugin: HostedPlugin;
  readonly meta: MetadataDocument;
  readonly payload: Payload;
  /** Where the install-ready archive is written. */
  readonly dataFile: string;
  /** Callers by HTTP get none: their manifest is what deployed installers know. */
  readonly withDigests?: true | undefined;
  readonly workspace: Workspace;
  readonly trees: UnpackedTrees;
  readonly env: ScriptEnvironment;
  readonly limits: ArchiveLimits;
  readonly log: Logger;
}

export async function runImport(
  call: ImportCall,
  scripts: Scripts,
  archives: Archives,
  signal: AbortSignal,
): Promise<Imported | CallOutcome> {
  const { workspace, plugin } = call;
  const input = await workspace.folder('input');
  const output = await workspace.folder('output');
  await using unpacked = await unpackPayload({ ...call, dir: input }, archives, signal);
  const { files: rawUploads, notes } = unpacked;
  if (rawUploads.every((file) => file.name === METADATA)) return invalid(['the upload holds no file']);
  if (rawUploads.some((file) => file.name.startsWith(`${METADATA}/`)))
    return invalid([`the upload has a folder named ${METADATA}, where the metadata go`]);
  await workspace.metadata(input, call.meta.text);

  const args = [input, output];
  const outcome = await scripts.run({ kind: 'import', ...call, args }, signal);
  if (outcome.kind === 'refused') return invalid(outcome.lines);
  if (outcome.kind !== 'ok') return scriptFailure(outcome);
  const written = await findFiles(output);
  const left = written.files.filter(({ name }) => isDesktopJunk(name)).map(({ name }) => name);
  const found = { ...written, files: written.files.filter(({ name }) => !isDesktopJunk(name)) };
  const fault = outputFault(found);
  if (fault !== undefined) return scriptFailure(scriptError(plugin.scripts.dataCleaning, 0, fault));
  await workspace.remove('input');
  const leftOut = leftOutNote(left.slice(0, MOST_NAMED), left.length - MOST_NAMED);
  // Our own uploads cannot contain this name; those of other services may.
  const own = rawUploads.some(({ name }) => name === METADATA)
    ? [`left out: the upload's own ${METADATA}, a reserved name, where the metadata go`]
    : [];
  const lines = [...notes, ...own, ...(leftOut === undefined ? [] : [leftOut]), ...outcome.lines];
  const { data, installReady } = await packData(call, archives, found.files, signal);
  return { kind: 'imported', manifest: { rawUploads, installReady }, messages: splitMessages(lines), data };
}

/** Why the script's output cannot become a dataset's files, and what the plugin's author has to change. */
function outputFault({ files, others, misnamed }: FoundFiles): string | undefined {
  const [other] = others;
  if (other?.isLink)
    return `the import script wrote ${quoteEntry(other.name)}, a symbolic link: write a copy of what it points to (cp -L)`;
  if (other !== undefined)
    return `the import script wrote ${quoteEntry(other.name)}, which is neither file nor folder: leave only those in the output folder`;
  const [wrong] = misnamed;
  if (wrong !== undefined)
    return `the import script wrote ${quoteBytes(wrong)}, a name that is not UTF-8: give it one that is`;
  if (files.length === 0)
    return 'the import script wrote no output files: at least one has to be in the folder that is its second argument';
  const keys = new Map<string, string>();
  for (const { name } of files) {
    if (name === METADATA)
      return `the import script wrote '${METADATA}': leave it out when the input folder is copied; install-data is given it anyway`;
    if (name.startsWith(RESERVED_PREFIX))
      return `the import script wrote ${quoteEntry(name)}; names beginning with '${RESERVED_PREFIX}' are reserved: choose another`;
    if (name.includes('\\'))
      return `the import script wrote ${quoteEntry(name)}, whose backslash would be read as a folder: choose another name`;
    const check = checkEntryPath(name);
    if ('fault' in check) return `an output file of the import script ${check.fault}: ${quoteEntry(name)}`;
    const twin = keys.get(fileNameKey(name));
    if (twin !== undefined)
      return `the import script wrote ${quoteEntry(twin)} and ${quoteEntry(name)}, which differ in case only: rename one, for many disks cannot hold both`;
    keys.set(fileNameKey(name), name);
  }
  return undefined;
}

async function packData(
  { workspace, payload, dataFile: file, withDigests, trees }: ImportCall,
  archives: Archives,
  files: readonly FoundFile[],
  signal: AbortSignal,
): Promise<{ readonly data: Imported['data']; readonly installReady: readonly FileEntry[] }> {
  const packed = files.map(({ name, file, size }) => ({ path: name, file, size }));
  const output = workspace.path('output');
  const tree = payload.isStored ? await trees.look(output, files) : undefined;
  const options = {
    level: DATA_LEVEL,
    ...(payload.isStored ? ({ syncEarly: true } as const) : {}),
    ...(withDigests ? ({ digests: true } as const) : {}),
  };
  const written = await archives.zip(file, packed, options, signal);
  if (tree) await trees.keep(file, tree);
  await workspace.remove('output');
  const entries = files.map(({ name, size }) => ({ name, size }));
  if (!withDigests) return { data: { file, bytes: written.bytes }, installReady: entries };
  const { files: installReady, zip } = digested(entries, written);
  return { data: { file, bytes: zip.size, sha256: zip.sha256 }, installReady };
}

// The reply of an import over HTTP: one zip with manifest, messages and data.

/** Packs the reply in the workspace, and removes the data file. */
export async function packReply(
  { manifest, messages, data }: Imported,
  workspace: Workspace,
  archives: Archives,
  signal: AbortSignal,
): Promise<{ readonly file: string; readonly bytes: number }> {
  const parts = [
    await document(workspace, 'vdi-manifest.json', manifestDocument(manifest.rawUploads, manifest.installReady)),
    await document(workspace, 'warnings.json', validationDocument(true, messages)),
    { path: 'data.zip', file: data.file, size: data.bytes },
  ];
  const file = workspace.path('output.zip');
  const { bytes } = await archives.zip(file, parts, { level: STORED }, signal);
  // The caller may read slowly. Meanwhile the disk holds the data only once.
  await rm(data.file);
  return { file, bytes };
}

const manifestDocument = (rawUploads: readonly FileEntry[], installReady: readonly FileEntry[]): object => ({
  rawUploads,
  installReady,
  documentFiles: [],
  dataProperties: [],
});

async function document(workspace: Workspace, name: string, content: object) {
  const text = JSON.stringify(content);
  await writeFile(workspace.path(name), text);
  return { path: name, file: workspace.path(name), size: Buffer.byteLength(text) };
}
