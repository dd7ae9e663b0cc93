// Everything that a `details` part must satisfy before its dataset is accepted. All faults are reported at once; only
// the targets' own schemas wait until the rest is sound, because they judge the metadata document made from it.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import { type DatasetMetadata, serialiseMetadata } from '../../../engine/model/metadata.ts';
import { type FaultSink, Faults } from '../../kernel/input/faults.ts';
import { compileForeignSchema, compileSchema, type SchemaCheck } from '../../kernel/input/json-schema.ts';
import { CreateDetails } from '../schema/details.ts';
import type { InstallTargets } from '../service/install-targets.ts';
import { clean } from './clean.ts';
import { checkRules } from './details-rules.ts';
import { withoutPrefix } from './publication-identifier.ts';
import { checkTargets, checkType } from './target-rules.ts';

/** Version 1.7.0's name of a field that 1.8.0 calls `datasetCharacteristics`. */
export const OLD_CHARACTERISTICS = 'studyCharacteristics';

/** Plugins take documents of 1 MiB; the rest is for what is added later, such as the note of the next revision. */
const MAX_DOCUMENT_BYTES = (1024 - 64) * 1024;

export interface CheckedDetails {
  /** Undefined when there are faults. */
  readonly details: CreateDetails | undefined;
  /** In the caller's spelling; later checks of the same request add theirs. */
  readonly faults: Faults;
}

export class DetailsCheck {
  readonly #targets: InstallTargets;
  readonly #dataTypes: DataTypes;
  readonly #schema: SchemaCheck = compileSchema(CreateDetails);
  readonly #targetSchemas: ReadonlyMap<string, SchemaCheck>;

  /** Throws when a target's `metaValidation` is no JSON Schema, naming the target. */
  constructor(targets: InstallTargets, dataTypes: DataTypes) {
    this.#targets = targets;
    this.#dataTypes = dataTypes;
    this.#targetSchemas = compileTargetSchemas(targets);
  }

  /** @param version whose field names the faults use, unless the body already uses the others */
  check(body: unknown, version: ApiVersion): CheckedDetails {
    const faults = new Faults(callersNames(body, version));
    const cleaned = clean(body, faults);
    if (typeof cleaned !== 'object' || cleaned === null || Array.isArray(cleaned)) {
      faults.add([], 'details must be a JSON object');
      return { details: undefined, faults };
    }
    const details = underNewNames(cleaned as Record<string, unknown>, faults);
    this.checkCleaned(details, faults);
    return { details: faults.empty ? (details as CreateDetails) : undefined, faults };
  }

  /** As {@link check}, for details under our own names that are clean already. */
  checkCleaned(details: Record<string, unknown>, faults: FaultSink): void {
    this.#schema(withBareIdentifiers(details), faults);
    this.#checkAcrossFields(details, faults);
  }

  /** The metadata document as it will be stored: its size, and the targets' own schemas. */
  checkDocument(metadata: DatasetMetadata, faults: Pick<FaultSink, 'add'>): void {
    const text = serialiseMetadata(metadata);
    const size = Buffer.byteLength(text);
    if (size > MAX_DOCUMENT_BYTES)
      faults.add([], `the metadata come to ${size} bytes as they are stored; they may have ${MAX_DOCUMENT_BYTES}`);
    const document: unknown = JSON.parse(text);
    for (const id of metadata.installTargets) {
      const add: Faults['add'] = (path, sentence) => faults.add(path, `${sentence} (by install target ${id})`);
      this.#targetSchemas.get(id)?.(document, { add });
    }
  }

  #checkAcrossFields(body: Record<string, unknown>, faults: FaultSink): void {
    const faulty = new Set(Object.keys(body).filter((field) => faults.touches(field)));
    const sound = Object.entries(body).filter(([field]) => !faulty.has(field));
    const details: Partial<CreateDetails> = Object.fromEntries(sound);
    const ids = details.installTargets ?? [];
    const categories = new Set(ids.flatMap((id) => this.#targets.find(id)?.category ?? []));
    checkRules({ details, faulty, categories }, faults);
    checkTargets(ids, this.#targets, faults);
    if (details.type) checkType(details.type, ids, this.#dataTypes, this.#targets, faults);
  }
}

/** The schema bounds what is stored, which is without what people write in front of an identifier. */
function withBareIdentifiers(details: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(details.publications)) return details;
  const bare = (publication: unknown): unknown => {
    const given = (publication as { readonly identifier?: unknown } | null)?.identifier;
    if (typeof given !== 'string') return publication;
    return { ...(publication as object), identifier: withoutPrefix(given).identifier || given };
  };
  return { ...details, publications: details.publications.map(bare) };
}

/** For {@link Faults}: our field names as the caller spells them. */
export function callersNames(body: unknown, version: ApiVersion): ReadonlyMap<string, string> {
  const keys = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  const old = keys.includes(OLD_CHARACTERISTICS) || (version === '1.7.0' && !keys.includes('datasetCharacteristics'));
  return new Map(old ? [['datasetCharacteristics', OLD_CHARACTERISTICS]] : []);
}

function underNewNames(body: Record<string, unknown>, faults: Faults): Record<string, unknown> {
  const { [OLD_CHARACTERISTICS]: old, ...rest } = body;
  if (old === undefined) return body;
  if (rest.datasetCharacteristics !== undefined)
    faults.add([OLD_CHARACTERISTICS], 'is the old name of datasetCharacteristics; only one of them may be given');
  return { datasetCharacteristics: old, ...rest };
}

function compileTargetSchemas(targets: InstallTargets): ReadonlyMap<string, SchemaCheck> {
  const checks = new Map<string, SchemaCheck>();
  for (const { id, metaValidation } of targets.all()) {
    if (!metaValidation) continue;
    try {
      checks.set(id, compileForeignSchema(metaValidation));
    } catch (cause) {
      throw new Error(`metaValidation of install target '${id}' is not a JSON Schema`, { cause });
    }
  }
  return checks;
}
