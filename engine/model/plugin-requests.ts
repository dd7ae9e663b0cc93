// The requests that a plugin host serves, and the checks that each must pass before any of it becomes a path, an argument or a
// line of input. They are the same for requests that come as documents over HTTP and for those of lanes in the same process.

import { messageOf, rejected } from '../runtime/failure.ts';
import { type DatasetId, parseDatasetId } from './ids.ts';
import { parseJson, shown, stringifyJson } from './json.ts';
import { type DatasetMetadata, type DatasetType, type Dependency, parseMetadata } from './metadata.ts';
import { pluginMetadata } from './plugin-metadata.ts';

export interface CallIds {
  /** Appears in all logs about the event; 0 when the caller sent none. */
  readonly event: number;
  readonly dataset: DatasetId;
}

/** A checked metadata document, and its text for scripts, which has every field that the caller sent. */
export interface MetadataDocument {
  readonly metadata: DatasetMetadata;
  readonly text: string;
}

export interface ImportRequest extends CallIds {
  readonly jobId: number;
  readonly meta: MetadataDocument;
}

export interface TargetRequest extends CallIds {
  /** The id of a target that may be unknown. */
  readonly target: string;
}

export interface InstallRequest extends TargetRequest {
  readonly meta: MetadataDocument;
}

export interface InstallFilesRequest extends InstallRequest {
  /** The id of the target whose files are copied. It may be unknown. */
  readonly source: string;
}

export interface UninstallRequest extends TargetRequest {
  readonly type: DatasetType;
}

/** Throws a `rejected` failure, as all of these do. */
export function callIds(event: unknown, dataset: unknown): CallIds {
  const id = typeof dataset === 'string' ? parseDatasetId(dataset) : undefined;
  if (id === undefined)
    throw rejected(`'vdi-id' is ${shown(dataset)}; it must be 1 to 64 characters of A-Z a-z 0-9 _ -`);
  // It is an argument of scripts, which would read it as an option.
  if (id.startsWith('-')) throw rejected(`'vdi-id' is ${shown(dataset)}; it must not begin with '-'`);
  if (typeof event !== 'number' || event < 0) throw rejected(`'event-id' is ${shown(event)}; it must be a number`);
  return { event, dataset: id };
}

/** @param text JSON; scripts get it as it is */
export function metadataDocumentOf(text: string): MetadataDocument {
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

/** @param value parsed JSON; scripts get it indented */
export function nestedMetadata(value: unknown): MetadataDocument {
  if (value === undefined) throw rejected("'meta' is missing in the details");
  return metadataDocumentOf(stringifyJson(value, 2));
}

export function checkImport({ metadata }: MetadataDocument): void {
  if (metadata.name.trim() === '') throw rejected("'meta.name' must not be blank");
  if (metadata.installTargets.length === 0 || metadata.installTargets.some((target) => `${target}`.trim() === ''))
    throw rejected("'meta.installTargets' must name at least one target and no blank one");
  checkDependencies(metadata, ['resourceDisplayName']);
}

/** Fields that become a line of the compatibility script's input. A user's text must not make two lines of it. */
const LINE_FIELDS = ['resourceIdentifier', 'resourceVersion'] as const;

function checkDependencies({ dependencies }: DatasetMetadata, fields: readonly (keyof Dependency)[]): void {
  for (const [i, dependency] of dependencies.entries()) {
    for (const field of fields) {
      const value: unknown = dependency[field];
      if (typeof value !== 'string' || value.trim() === '' || /[\p{Cc}]/u.test(value))
        throw rejected(
          `'meta.dependencies[${i}].${field}' is ${shown(value)}; it must be text, not blank, without control characters`,
        );
    }
  }
}

// The metadata of stored datasets. Scripts get the same text whether their host is called over HTTP or not, so it is made from
// the text that a plugin server would be sent.

/** As install-data gets it. */
export const sentMetadata = (metadata: DatasetMetadata): MetadataDocument =>
  metadataDocumentOf(pluginMetadata(metadata));

/** As the other calls get it: inside of their details. */
export const sentInDetails = (metadata: DatasetMetadata): MetadataDocument =>
  nestedMetadata(parseJson(pluginMetadata(metadata)));
