// The dataset documents in the object store: metadata, manifest, upload error, shares. Field names are those that existing
// buckets and plugins rely on; http/installer maps the API's names to them.

import { Failure } from '../runtime/failure.ts';
import { ARCHIVE_OBJECTS, type ArchiveObject, isSha256, type StoredArchive } from './digest.ts';
import { type DatasetId, rootOf, type TargetId, type UserId } from './ids.ts';
import { isObject, parseJson, stringifyJson } from './json.ts';
import { checkShape } from './metadata-shape.ts';
import type { StoredVisibility } from './status.ts';

export interface DatasetType {
  /** Lower case; type names are case-insensitive. */
  readonly name: string;
  readonly version: string;
}

export interface Dependency {
  readonly resourceIdentifier: string;
  readonly resourceDisplayName: string;
  readonly resourceVersion: string;
}
export interface Publication {
  readonly identifier: string;
  readonly type: 'pmid' | 'doi';
  readonly citation?: string;
  readonly isPrimary: boolean;
}
interface Contact {
  readonly firstName?: string;
  readonly middleName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly affiliation?: string;
  readonly country?: string;
  readonly isPrimary: boolean;
}
interface LinkedDataset {
  readonly datasetUri: string;
  readonly sharesRecords: boolean;
}
interface Organism {
  readonly species: string;
  readonly strain: string;
}
interface DatasetCharacteristics {
  readonly studyDesign?: string;
  readonly studyType?: string;
  readonly countries?: readonly string[];
  readonly years?: { readonly start: number; readonly end: number };
  readonly studySpecies?: readonly string[];
  readonly outcomes?: readonly string[];
  readonly associatedFactors?: readonly string[];
  readonly participantAges?: string;
  readonly sampleTypes?: readonly string[];
}
interface ExternalIdentifiers {
  readonly dois?: readonly { readonly doi: string; readonly description?: string }[];
  readonly hyperlinks?: readonly { readonly url: string; readonly description?: string }[];
  readonly bioprojectIds?: readonly { readonly id: string; readonly description?: string }[];
}
interface Funding {
  readonly agency: string;
  readonly awardNumber: string;
}
interface DatasetSource {
  readonly url: string;
  readonly version: string;
}
export interface Revision {
  readonly action: 'create' | 'extend' | 'revise';
  readonly timestamp: string;
  readonly revisionId: DatasetId;
  readonly revisionNote: string;
}

/** `vdi-meta.json`: everything that the owner said about the dataset. Optional fields are absent, never null. */
export interface DatasetMetadata {
  readonly type: DatasetType;
  readonly installTargets: readonly TargetId[];
  readonly visibility: StoredVisibility;
  readonly owner: UserId;
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly origin: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly created: string;
  readonly sourceUrl?: string;
  readonly dependencies: readonly Dependency[];
  readonly publications?: readonly Publication[];
  readonly contacts?: readonly Contact[];
  readonly shortAttribution?: string;
  readonly projectName?: string;
  readonly programName?: string;
  readonly linkedDatasets?: readonly LinkedDataset[];
  readonly experimentalOrganism?: Organism;
  readonly hostOrganism?: Organism;
  readonly datasetCharacteristics?: DatasetCharacteristics;
  readonly externalIdentifiers?: ExternalIdentifiers;
  readonly funding?: readonly Funding[];
  readonly revisionHistory?: { readonly originalId: DatasetId; readonly revisions: readonly Revision[] };
  readonly daysForApproval: number;
  readonly dataDisclaimer?: string;
  readonly datasetSources?: readonly DatasetSource[];
  /** When the dataset first stopped being private; decides 410 against 404 after a deletion. */
  readonly firstPublished?: string;
}

export interface FileEntry {
  /** Relative path with `/`, or a plain name. */
  readonly name: string;
  readonly size: number;
  /** SHA-256 of its bytes, in hex. Absent = not known. */
  readonly sha256?: string;
  /** Of a file that is an object of the store: the version that the digest is of. */
  readonly etag?: string;
}

/** `vdi-manifest.json`. Sizes are bytes before compression. */
export interface Manifest {
  readonly rawUploads: readonly FileEntry[];
  readonly installReady: readonly FileEntry[];
  /** Ours alone: the stored archives whose digests are known. */
  readonly archives?: Readonly<Partial<Record<ArchiveObject, StoredArchive>>>;
}

/** `upload-error.json`: why an upload did not become a dataset. */
export interface UploadError {
  readonly status: 'rejected' | 'failed';
  readonly message: string;
}

/** The dataset that this one is a revision of, or itself. In buckets of compatible systems only the history tells revisions. */
export const originalOf = (
  dataset: DatasetId,
  { revisionHistory }: Pick<DatasetMetadata, 'revisionHistory'>,
): DatasetId => revisionHistory?.originalId ?? rootOf(dataset);

export function serializeMetadata(metadata: DatasetMetadata): string {
  return stringifyJson(metadataDocument(metadata), 2);
}

/** Metadata with the names that stored documents have. */
export function metadataDocument(metadata: DatasetMetadata): object {
  const { revisionHistory, ...rest } = metadata;
  // Stored documents give the list inside the history the same name as the history itself.
  const history = revisionHistory && {
    originalId: revisionHistory.originalId,
    revisionHistory: revisionHistory.revisions,
  };
  return { ...rest, ...(history ? { revisionHistory: history } : {}) };
}

/**
 * Reads a metadata document that we or a compatible system wrote; a document that we cannot use is a `rejected` failure. Null
 * values count as absent, so the list of dependencies is always present.
 */
export function parseMetadata(text: string, where: string): DatasetMetadata {
  const document = documentOf(text, where);
  checkShape(document, where);
  return fromDocument(document);
}

/** Reads a document that was checked when it was registered, or by an earlier version: one bad row must not break a list. */
export const registeredMetadata = (text: string, where: string): DatasetMetadata =>
  fromDocument(documentOf(text, where));

function documentOf(text: string, where: string): Readonly<Record<string, unknown>> {
  const parsed = parseObject(text, where);
  // Few documents contain a null, and many documents are read.
  return text.includes('null') ? (withoutNulls(parsed) as Record<string, unknown>) : parsed;
}

function fromDocument(raw: Readonly<Record<string, unknown>>): DatasetMetadata {
  const { projects: _projects, studyCharacteristics, revisionHistory, ...rest } = raw;
  const history = revisionHistory as
    | { originalId: DatasetId; revisionHistory?: Revision[]; revisions?: Revision[] }
    | undefined;
  const characteristics = raw.datasetCharacteristics ?? studyCharacteristics;
  const type = raw.type as DatasetType;
  return {
    summary: '',
    origin: 'unknown',
    visibility: 'private',
    dependencies: [],
    daysForApproval: -1,
    ...rest,
    type: { name: type.name.toLowerCase(), version: type.version },
    installTargets: (raw.installTargets ?? raw.projects) as TargetId[],
    ...(characteristics ? { datasetCharacteristics: characteristics } : {}),
    ...(history
      ? {
          revisionHistory: {
            originalId: history.originalId,
            revisions: history.revisionHistory ?? history.revisions ?? [],
          },
        }
      : {}),
  } as unknown as DatasetMetadata;
}

export function serialiseManifest({ archives = {}, ...manifest }: Manifest): string {
  return stringifyJson({ ...manifest, ...(Object.keys(archives).length > 0 ? { archives } : {}) }, 2);
}

export function parseManifest(text: string, where: string): Manifest {
  const raw = parseObject(text, where);
  const stored: Readonly<Record<string, unknown>> = isObject(raw.archives) ? raw.archives : {};
  const archives = ARCHIVE_OBJECTS.flatMap((object) => {
    const [archive] = fileEntries([stored[object] ?? {}]);
    return archive?.sha256 === undefined ? [] : [[object, { size: archive.size, sha256: archive.sha256 }] as const];
  });
  return {
    rawUploads: fileEntries(raw.rawUploads ?? raw.inputFiles),
    installReady: fileEntries(raw.installReady ?? raw.dataFiles),
    ...(archives.length > 0 ? { archives: Object.fromEntries(archives) } : {}),
  };
}

/** The manifest as deployed plugin servers know it: without digests. */
export const withoutDigests = ({ rawUploads, installReady }: Manifest): Manifest => ({
  rawUploads: rawUploads.map(({ name, size }) => ({ name, size })),
  installReady: installReady.map(({ name, size }) => ({ name, size })),
});

export function parseUploadError(text: string, where: string): UploadError {
  const raw = parseObject(text, where);
  return { status: raw.status === 'rejected' ? 'rejected' : 'failed', message: String(raw.message ?? '') };
}

/**
 * The first 20 characters of the name (docs/contract/installer.md#dataset-details); computed, never stored. Runs of white space
 * are collapsed to one character first, so that the cut does not leave less than three other characters.
 */
export function shortName(metadata: Pick<DatasetMetadata, 'name'>): string {
  return [...metadata.name.trim().replaceAll(/\s+/g, ' ')].slice(0, 20).join('').trim();
}

function parseObject(text: string, where: string): Readonly<Record<string, unknown>> {
  let raw: unknown;
  try {
    raw = parseJson(text);
  } catch (cause) {
    throw new Failure('rejected', `${where}: not JSON`, { cause });
  }
  if (!isObject(raw)) throw new Failure('rejected', `${where}: not a JSON object`);
  return raw;
}

/** Copies the value without null members and items, at every level. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

function fileEntries(raw: unknown): FileEntry[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((entry: Readonly<Record<string, unknown>>) => ({
    name: String(entry.name ?? entry.filename ?? ''),
    size: Number(entry.size ?? entry.fileSize ?? 0),
    ...(isSha256(entry.sha256) ? { sha256: entry.sha256 } : {}),
  }));
}

/** The two documents of a share: the owner's offer and the recipient's receipt. */
export const OFFER_ACTIONS = ['grant', 'revoke'] as const;
export type OfferAction = (typeof OFFER_ACTIONS)[number];

export const RECEIPT_ACTIONS = ['accept', 'reject'] as const;
export type ReceiptAction = (typeof RECEIPT_ACTIONS)[number];

export const serialiseShare = (action: OfferAction | ReceiptAction): string => stringifyJson({ action });

/** A document that contains neither is a `rejected` failure that names it. */
export const parseOffer = (text: string, where: string): OfferAction => parseAction(text, where, OFFER_ACTIONS);
export const parseReceipt = (text: string, where: string): ReceiptAction => parseAction(text, where, RECEIPT_ACTIONS);

function parseAction<Action extends string>(text: string, where: string, allowed: readonly Action[]): Action {
  let action: unknown;
  try {
    action = (parseJson(text) as { action?: unknown } | null)?.action;
  } catch (cause) {
    throw new Failure('rejected', `${where}: not JSON`, { cause });
  }
  const known = allowed.find((word) => word === action);
  if (!known) throw new Failure('rejected', `${where}: 'action' must be one of ${allowed.join(', ')}`);
  return known;
}
