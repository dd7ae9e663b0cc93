// The plugins that one host serves and their install targets. Finds those that a request is about.

import { type DataType, DataTypes, type TargetTypes } from '../../engine/model/data-types.ts';
import type { DatasetType } from '../../engine/model/metadata.ts';
import { rejected } from '../../engine/runtime/failure.ts';

export interface HostedScript {
  /** A path, or a name that is looked up in the scripts' PATH. */
  readonly path: string;
  readonly maxDurationMs: number;
}

export interface HostedPlugin {
  /** The key in the configuration. It appears in logs and metrics. */
  readonly name: string;
  readonly dataTypes: readonly DataType[];
  /** Appended to the host's own PATH for scripts. */
  readonly customPath?: string | undefined;
  /** Root folder of installed files. It must exist. */
  readonly installRoot: string;
  /** False: scripts get the final folder, because they store its path. */
  readonly staging: boolean;
  readonly scripts: Readonly<
    Record<'checkCompatibility' | 'dataCleaning' | 'dataInstall' | 'metaUpdate' | 'uninstall', HostedScript>
  >;
  readonly limits?: { readonly cpuSeconds?: number; readonly fileSizeBytes?: number };
}

/** A data DB as scripts see it. */
export interface DataDb {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly user: string;
  readonly password: string;
  readonly schema: string;
  readonly platform: 'Postgres' | 'MariaDB';
}

export interface HostedTarget extends TargetTypes {
  /** Replaces the site build and the target in the path of installed files. */
  readonly datasetFileRoot?: string | undefined;
  /** Equal for targets whose `dataDb` is the same schema of the same database. */
  readonly dataSchema: string;
  /** May query a directory server. */
  readonly dataDb: (signal: AbortSignal) => Promise<DataDb>;
}

export class HostedPlugins {
  readonly plugins: readonly HostedPlugin[];
  readonly targets: readonly HostedTarget[];
  readonly #types: DataTypes;

  constructor(plugins: readonly HostedPlugin[], targets: readonly HostedTarget[]) {
    this.plugins = plugins;
    this.targets = targets;
    const types = plugins.flatMap((plugin) => plugin.dataTypes.map((type) => ({ ...type, plugin: plugin.name })));
    this.#types = new DataTypes(types, targets);
  }

  plugin(type: DatasetType): HostedPlugin {
    return this.#find(type).plugin;
  }

  target(id: string): HostedTarget {
    const target = this.targets.find((candidate) => candidate.id === id);
    if (target) return target;
    throw rejected(`install-target '${id}' must be one of ${this.targets.map((one) => one.id).join(', ')}`);
  }

  /**
   * The plugin of the type, and a target that accepts the type. Not for uninstalls: the target may have stopped accepting it.
   */
  installer(type: DatasetType, targetId: string): { readonly plugin: HostedPlugin; readonly target: HostedTarget } {
    const { plugin, dataType } = this.#find(type);
    const target = this.target(targetId);
    if (!this.#types.appliesTo(dataType, target.id))
      throw rejected(`type ${type.name} ${type.version} is not for install-target '${targetId}'`);
    return { plugin, target };
  }

  #find(type: DatasetType): { readonly plugin: HostedPlugin; readonly dataType: DataType } {
    const dataType = this.#types.find(type);
    const plugin = this.plugins.find((candidate) => candidate.name === dataType?.plugin);
    if (dataType && plugin) return { plugin, dataType };
    const served = this.#types.all().map((one) => `${one.name} ${one.version}`);
    throw rejected(`type '${type.name} ${type.version}' is not served here; served: ${served.join(', ')}`);
  }
}
