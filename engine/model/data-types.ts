// Which plugin serves a data type, and to which install targets the type applies.

import type { TargetId } from './ids.ts';
import type { DatasetType } from './metadata.ts';

/** Archives that every type accepts and that are unpacked before the type's own extensions are checked. */
export const ARCHIVE_EXTENSIONS = ['.zip', '.tar.gz', '.tgz'] as const;

export interface DataType extends DatasetType {
  /** Display name, e.g. 'Gene List'. */
  readonly category: string;
  /** Key of the plugin in the configuration; used in logs and metrics. */
  readonly plugin: string;
  readonly typeChangesEnabled: boolean;
  /** Bytes per file. */
  readonly maxFileSize: number;
  /** Each starts with a dot; empty = any. */
  readonly allowedFileExtensions: readonly string[];
  readonly usesDataProperties: boolean;
  /** Empty = any target. */
  readonly projectIds: readonly TargetId[];
}

/** What an enabled install target accepts: type names (lower case) with versions, or every type. */
export interface TargetTypes {
  readonly id: TargetId;
  readonly dataTypes: 'any' | readonly DatasetType[];
}

export class DataTypes {
  readonly #types = new Map<string, DataType>();
  readonly #targets = new Map<TargetId, TargetTypes>();

  constructor(types: readonly DataType[], targets: readonly TargetTypes[]) {
    for (const type of types) this.#types.set(typeKey(type), type);
    for (const target of targets) this.#targets.set(target.id, target);
  }

  /** The registered type. Names are compared without case, versions exactly. */
  find(type: DatasetType): DataType | undefined {
    return this.#types.get(typeKey(type));
  }

  all(): readonly DataType[] {
    return [...this.#types.values()];
  }

  /** True when the target is enabled, its own list admits the type, and the plugin is not restricted to others. */
  appliesTo(type: DataType, target: TargetId): boolean {
    const accepts = this.#targets.get(target);
    if (!accepts) return false;
    if (type.projectIds.length > 0 && !type.projectIds.includes(target)) return false;
    return accepts.dataTypes === 'any' || accepts.dataTypes.some((own) => typeKey(own) === typeKey(type));
  }
}

/** One string per type: `genelist:1.0`. Also the `type` of job rows and the label of metrics. */
export const typeKey = (type: DatasetType): string => `${type.name.toLowerCase()}:${type.version}`;
