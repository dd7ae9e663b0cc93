// Everything that a `details` part must satisfy before its dataset is accepted. All faults are reported at once. Only the
// targets' own schemas wait until the rest is sound, because they validate the metadata document that is made from it.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import { type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import { targetId } from '../../../engine/model/ids.ts';
import { isObject } from '../../../engine/model/json.ts';
import { type DatasetMetadata, serializeMetadata } from '../../../engine/model/metadata.ts';
import { quote } from '../../kernel/input/describe.ts';
import { type FaultSink, Faults } from '../../kernel/input/faults.ts';
import { compileForeignSchema, compileSchema, type SchemaCheck } from '../../kernel/input/json-schema.ts';
import type { InstallTargets } from '../install-targets.ts';
import { CreateDetails } from './create-details.ts';
import { checkRules, withoutPrefix } from './details-rules.ts';
import { clean } from './input.ts';

function checkTargets(ids: readonly string[], targets: InstallTargets, faults: FaultSink): void {
  for (const [i, id] of ids.entries()) {
    const target = targets.find(id);
    if (!target) faults.add(['installTargets', i], `is ${quote(id)}; install targets are ${targets.enabledIds()}`);
    else if (!target.enabled)
      faults.add(['installTargets', i], `is ${quote(id)}, which is disabled; enabled are ${targets.enabledIds()}`);
  }
}

/** The type must be registered and apply to every enabled target among `ids`. */
function checkType(
  input: CreateDetails['type'],
  ids: readonly string[],
  dataTypes: DataTypes,
  targets: InstallTargets,
  faults: FaultSink,
): void {
  const type = dataTypes.find(input);
  if (!type) {
    const registered = dataTypes.all().map((known) => quote(typeKey(known)));
    faults.add(['type'], `is ${quote(typeKey(input))}; registered are ${registered.join(', ')}`);
    return;
  }
  for (const id of ids.map(targetId))
    if (targets.find(id)?.enabled && !dataTypes.appliesTo(type, id))
      faults.add(['type'], `is ${quote(typeKey(type))}, which does not apply to the install target ${quote(id)}`);
}

/** The name in version 1.7.0 of what 1.8.0 calls `datasetCharacteristics`. */
export const OLD_CHARACTERISTICS = 'studyCharacteristics';

/** Plugins take documents of 1 MiB. The difference is for later additions, such as the note of the next revision. */
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

  /** @param version faults use the field names of this version, unless the body uses those of the other */
  check(body: unknown, version: ApiVersion): CheckedDetails {
    const faults = new Faults(callersNames(body, version));
    const cleaned = clean(body, faults);
    if (!isObject(cleaned)) {
      faults.add([], 'details must be a JSON object');
      return { details: undefined, faults };
    }
    const details = underNewNames(cleaned, faults);
    this.checkCleaned(details, faults);
    return { details: faults.empty ? (details as CreateDetails) : undefined, faults };
  }

  /** As {@link check}, for details that are clean and use the current names. */
  checkCleaned(details: Record<string, unknown>, faults: FaultSink): void {
    this.#schema(withBareIdentifiers(details), faults);
    this.#checkAcrossFields(details, faults);
  }

  /** Checks the metadata document as it will be stored: its size, and the targets' own schemas. */
  checkDocument(metadata: DatasetMetadata, faults: Pick<FaultSink, 'add'>): void {
    const text = serializeMetadata(metadata);
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

/** The schema's bounds apply to what is stored, which is without prefixes such as `doi:`. */
function withBareIdentifiers(details: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(details.publications)) return details;
  const bare = (publication: unknown): unknown => {
    const given = (publication as { readonly identifier?: unknown } | null)?.identifier;
    if (typeof given !== 'string') return publication;
    return { ...(publication as object), identifier: withoutPrefix(given).identifier || given };
  };
  return { ...details, publications: details.publications.map(bare) };
}

/** For {@link Faults}: the caller's names of fields that are called otherwise here. */
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
