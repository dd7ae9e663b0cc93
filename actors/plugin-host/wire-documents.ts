// JSON of the plugin protocol: what requests carry, checked before any of it becomes a path or an argument, and what
// answers say.

import { type DatasetId, parseDatasetId } from '../../engine/model/ids.ts';
import { isObject, parseJson, stringifyJson } from '../../engine/model/json.ts';
import {
  type DatasetMetadata,
  type DatasetType,
  type Dependency,
  type FileEntry,
  parseMetadata,
} from '../../engine/model/metadata.ts';
import { type HostReply, MAX_JOB_ID, PLUGIN_STATUS as STATUS } from '../../engine/ports/plugin-client.ts';
import { Failure, messageOf, rejected } from '../../engine/runtime/failure.ts';
import { type ScriptError, type ScriptOutcome, splitMessages } from './scripts.ts';

export interface CallIds {
  /** Follows the event through all logs; 0 when the caller sent none. */
  readonly event: number;
  readonly dataset: DatasetId;
}

export interface Messages {
  readonly basic: readonly string[];
  readonly community: readonly string[];
}

/** A metadata document: checked, and as text for the script, with every field the caller sent. */
export interface MetadataDocument {
  readonly metadata: DatasetMetadata;
  readonly text: string;
}

export function parseImportDetails(
  text: string,
): CallIds & { readonly jobId: number; readonly meta: MetadataDocument } {
  const fields = parseFields(text, 'details');
  const jobId = fields['job-id'] ?? 0;
  if (typeof jobId !== 'number' || !Number.isInteger(jobId) || jobId < 0 || jobId > MAX_JOB_ID)
    throw rejected(`'job-id' is ${shown(jobId)}; it must be a whole number from 0 to ${MAX_JOB_ID}`);
  const meta = nestedMetadata(fields.meta);
  const { metadata } = meta;
  if (metadata.name.trim() === '') throw rejected("'meta.name' must not be blank");
  if (metadata.installTargets.length === 0 || metadata.installTargets.some((target) => `${target}`.trim() === ''))
    throw rejected("'meta.installTargets' must name at least one target and no blank one");
  checkDependencies(metadata, ['resourceDisplayName']);
  return { ...parseIds(fields), jobId, meta };
}

export function parseInstallDetails(text: string): CallIds & { readonly target: string } {
  const fields = parseFields(text, 'details');
  return { ...parseIds(fields), target: requiredText(fields, 'install-target') };
}

export function parseInstallMetaDetails(
  text: string,
): CallIds & { readonly target: string; readonly meta: MetadataDocument } {
  const fields = parseFields(text, 'details');
  return { ...parseIds(fields), target: requiredText(fields, 'install-target'), meta: nestedMetadata(fields.meta) };
}

export function parseInstallFilesDetails(
  text: string,
): CallIds & { readonly target: string; readonly source: string; readonly meta: MetadataDocument } {
  return { ...parseInstallMetaDetails(text), source: requiredText(parseFields(text, 'details'), 'source-target') };
}

/** `body` is parsed JSON. */
export function parseUninstall(body: unknown): CallIds & { readonly target: string; readonly type: DatasetType } {
  const fields = objectFields(body, 'the body');
  const { name, version } = (fields.type ?? {}) as { name?: unknown; version?: unknown };
  if (typeof name !== 'string' || typeof version !== 'string')
    throw rejected("'type' must be an object with 'name' and 'version'");
  const target = requiredText(fields, 'install-target');
  return { ...parseIds(fields), target, type: { name: name.toLowerCase(), version } };
}

export function parseMetadataPart(text: string): MetadataDocument {
  let metadata: DatasetMetadata;
  try {
    metadata = parseMetadata(text, 'meta');
  } catch (error) {
    throw rejected(messageOf(error));
  }
  if (metadata.type.name.trim() === '' || metadata.type.version.trim() === '')
    throw rejected("'meta.type' must have a name and a version that are not blank");
  checkDependencies(metadata, LINE_FIELDS);
  return { metadata, text };
}

/** Nothing of a manifest is used, but one that is none shows that the parts are mixed up. */
export function checkManifestPart(text: string): void {
  parseFields(text, 'manifest');
}

export const validationDocument = (isValid: boolean, messages: Messages): object => ({
  isValid,
  basicValidation: messages.basic,
  communityValidation: messages.community,
});

export const manifestDocument = (rawUploads: readonly FileEntry[], installReady: readonly FileEntry[]): object => ({
  rawUploads,
  installReady,
  documentFiles: [],
  dataProperties: [],
});

function nestedMetadata(value: unknown): MetadataDocument {
  if (value === undefined) throw rejected("'meta' is missing in the details");
  return parseMetadataPart(stringifyJson(value, 2));
}

/** What makes one line of the compatibility script's input: no text of the user may make two of it. */
const LINE_FIELDS = ['resourceIdentifier', 'resourceVersion'] as const;

function checkDependencies({ dependencies }: DatasetMetadata, fields: readonly (keyof Dependency)[]): void {
  if (!Array.isArray(dependencies)) throw rejected("'meta.dependencies' must be a list");
  for (const [i, dependency] of dependencies.entries()) {
    for (const field of fields) {
      const value: unknown = dependency?.[field];
      if (typeof value !== 'string' || value.trim() === '' || /[\p{Cc}]/u.test(value))
        throw rejected(
          `'meta.dependencies[${i}].${field}' is ${shown(value)}; it must be text, not blank, without control characters`,
        );
    }
  }
}

function parseIds(fields: Readonly<Record<string, unknown>>): CallIds {
  const id = fields['vdi-id'];
  const dataset = typeof id === 'string' ? parseDatasetId(id) : undefined;
  if (dataset === undefined)
    throw rejected(`'vdi-id' is ${shown(id)}; it must be 1 to 64 characters of A-Z a-z 0-9 _ -`);
  // It is an argument of scripts, which would take it for an option.
  if (dataset.startsWith('-')) throw rejected(`'vdi-id' is ${shown(id)}; it must not begin with '-'`);
  const event = fields['event-id'] ?? 0;
  if (typeof event !== 'number' || event < 0) throw rejected(`'event-id' is ${shown(event)}; it must be a number`);
  return { event, dataset };
}

function requiredText(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw rejected(`'${name}' is ${shown(value)}; it must be text that is not blank`);
}

function parseFields(text: string, where: string): Readonly<Record<string, unknown>> {
  try {
    return objectFields(parseJson(text), where);
  } catch (error) {
    throw error instanceof Failure ? error : rejected(`${where}: not JSON (${messageOf(error)})`);
  }
}

function objectFields(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw rejected(`${where}: not a JSON object`);
  return value;
}

const shown = (value: unknown): string =>
  value === undefined ? 'missing' : `'${(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 100)}'`;

/**
 * Replies of the plugin host, as the plugin wire protocol has them (docs/design/decisions.md#plugin-wire-protocol).
 */
export const done: HostReply = { kind: 'empty' };

export const valid = (lines: readonly string[]): HostReply => ({
  kind: 'json',
  status: STATUS.ok,
  body: validationDocument(true, splitMessages(lines)),
});

export const invalid = (lines: readonly string[]): HostReply => ({
  kind: 'json',
  status: STATUS.invalid,
  body: validationDocument(false, splitMessages(lines)),
});

export const missingDependency = (lines: readonly string[]): HostReply => ({
  kind: 'json',
  status: STATUS.missingDependency,
  body: { warnings: lines.filter((line) => line.trim() !== '') },
});

export const serverError = (message: string): HostReply => ({
  kind: 'json',
  status: STATUS.serverError,
  body: { message },
});

/** What a script's end that is neither success nor refusal is answered with. */
export function scriptFailure(outcome: ScriptError | Extract<ScriptOutcome, { kind: 'failed' | 'later' }>): HostReply {
  if (outcome.kind === 'later') return outcome;
  if (outcome.kind === 'failed') return serverError(outcome.message);
  const { script, exitCode, message } = outcome;
  return { kind: 'json', status: STATUS.scriptError, body: { script, 'exit-code': exitCode, message } };
}
