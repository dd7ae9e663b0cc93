// Converts the configuration's plugins and targets into the engine's types.

import type { InstallTargetConfiguration, PluginConfiguration } from '../../config/configuration.ts';
import { type DataType, DataTypes } from '../../engine/model/data-types.ts';

export function dataTypes(
  plugins: Readonly<Record<string, PluginConfiguration>>,
  targets: readonly InstallTargetConfiguration[],
): DataTypes {
  const types = Object.entries(plugins).flatMap(([plugin, entry]): DataType[] =>
    entry.dataTypes.map((type) => ({ ...type, name: type.name.toLowerCase(), plugin })),
  );
  return new DataTypes(
    types,
    targets.map((target) => ({ id: target.targetId, dataTypes: target.dataTypes })),
  );
}
