// The plugins that one host serves, and the install targets they install into: who is meant by a request.

import { type DataType, DataTypes, type TargetTypes } from '../../engine/model/data-types.ts';
import type { DatasetType } from '../../engine/model/metadata.ts';
import { rejected } from '../../engine/runtime/failure.ts';

export interface HostedScript {
  /** Path, or a name on the scripts' PATH. */
  readonly path: string;
  readonly maxDurationMs: number;
}

export interface HostedPlugin {
  /** Key in the configuration; named in logs and metrics. */
  readonly name: string;
  readonly dataTypes: readonly DataType[];
  /** Put behind the host's own PATH for scripts. */
  readonly customPath?: string | undefined;
  /** Root of the installed files; must exist. */
  readonly installRoot: string;
  /** False gives scripts the final folder, for those that store its path. */
  readonly staging: boolean;
  readonly scripts: Readonly<
    Record<'checkCompatibility' | 'dataCleaning' | 'dataInstall' | 'metaUpdate' | 'uninstall', HostedScript>
  >;
  readonly limits?: { readonly cpuSeconds?: number; readonly fileSizeBytes?: number };
}

/** A data DB as scripts are told of it. */
export interface DataDb {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly user: string;
  readonly password: string;
  readonly schema: string;
  readonly platform: 'Postgres' | 'Oracle';
}

export interface HostedTarget extends TargetTypes {
  /** Replaces the site build and the target in the path of installed files. */
  readonly datasetFileRoot?: string | undefined;
  /** Equal for targets whose `dataDb` is one schema of one database. */
  readonly dataSchema: string;
  /** May have to ask a directory server. */
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

  /** The plugin of the type. */
  plugin(type: DatasetType): HostedPlugin {
    return this.#find(type).plugin;
  }

  target(id: string): HostedTarget {
    const target = this.targets.find((candidate) => candidate.id === id);
    if (target) return target;
    throw rejected(`install-target '${id}' must be one of ${this.targets.map((one) => one.id).join(', ')}`);
  }

  /** The plugin of the type and a target that accepts it. To take away again, the target may have stopped doing so. */
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
