// The JSON documents that calls of the plugin protocol carry. Each becomes a checked request (engine/model/plugin-requests.ts).

import { isObject, parseJson, shown } from '../../engine/model/json.ts';
import {
  type CallIds,
  callIds,
  checkImport,
  type ImportRequest,
  type InstallFilesRequest,
  type InstallRequest,
  metadataDocumentOf,
  nestedMetadata,
  type TargetRequest,
  type UninstallRequest,
} from '../../engine/model/plugin-requests.ts';
import { MAX_JOB_ID } from '../../engine/ports/plugin-client.ts';
import { Failure, messageOf, rejected } from '../../engine/runtime/failure.ts';

export function parseImport(details: string): ImportRequest {
  const fields = parseFields(details, 'details');
  const jobId = fields['job-id'] ?? 0;
  if (typeof jobId !== 'number' || !Number.isInteger(jobId) || jobId < 0 || jobId > MAX_JOB_ID)
    throw rejected(`'job-id' is ${shown(jobId)}; it must be a whole number from 0 to ${MAX_JOB_ID}`);
  const meta = nestedMetadata(fields.meta);
  checkImport(meta);
  return { ...idsOf(fields), jobId, meta };
}

/** The part of an install-data that comes before its data. */
export function parseTarget(details: string): TargetRequest {
  return targetOf(parseFields(details, 'details'));
}

export function parseInstallData(parts: {
  readonly details: string;
  readonly meta: string;
  readonly manifest: string;
}): InstallRequest {
  const request = { ...parseTarget(parts.details), meta: metadataDocumentOf(parts.meta) };
  // We use nothing of the manifest, but text that is no manifest shows that the parts were mixed up.
  parseFields(parts.manifest, 'manifest');
  return request;
}

export function parseInstallMeta(details: string): InstallRequest {
  const fields = parseFields(details, 'details');
  return { ...targetOf(fields), meta: nestedMetadata(fields.meta) };
}

export function parseInstallFiles(details: string): InstallFilesRequest {
  return { ...parseInstallMeta(details), source: requiredText(parseFields(details, 'details'), 'source-target') };
}

/** @param body parsed JSON */
export function parseUninstall(body: unknown): UninstallRequest {
  const fields = objectFields(body, 'the body');
  const { name, version } = (fields.type ?? {}) as { name?: unknown; version?: unknown };
  if (typeof name !== 'string' || typeof version !== 'string')
    throw rejected("'type' must be an object with 'name' and 'version'");
  return { ...targetOf(fields), type: { name: name.toLowerCase(), version } };
}

const targetOf = (fields: Readonly<Record<string, unknown>>): TargetRequest => ({
  ...idsOf(fields),
  target: requiredText(fields, 'install-target'),
});

const idsOf = (fields: Readonly<Record<string, unknown>>): CallIds =>
  callIds(fields['event-id'] ?? 0, fields['vdi-id']);

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
