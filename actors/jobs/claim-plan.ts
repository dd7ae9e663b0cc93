// Fairness between the plugins whose jobs share a lane (docs/design/decisions.md#from-a-change-to-a-job). A plugin that holds
// half of the workers, rounded up, is crowded:
//   a worker is idle   its jobs are claimed for idle workers only, and only when no other plugin's jobs wait
//   none is idle       its jobs stay in the table, because a job that waits in memory would take the place of others
// The size of a claim is limited so that it cannot raise another plugin above that half.

import { type DataTypes, typeKey } from '../../engine/model/data-types.ts';

export interface LaneLoad {
  readonly workers: number;
  /** Workers without a job. */
  readonly idle: number;
  /** How many more jobs the lane can hold, waiting or running. */
  readonly room: number;
  /** Data types of the jobs that the lane holds, waiting or running. */
  readonly held: readonly (string | undefined)[];
}

export interface ClaimPlan {
  readonly limit: number;
  /** Claimed only when no other jobs wait. */
  readonly crowdedTypes: readonly string[];
  /** Not claimed until a job of the lane ends. */
  readonly withheldTypes: readonly string[];
}

export function planClaim({ workers, idle, room, held }: LaneLoad, types: DataTypes): ClaimPlan {
  const pluginOf = new Map(types.all().map((type) => [typeKey(type), type.plugin]));
  const plugins = new Map([...pluginOf.values()].map((plugin) => [plugin, 0]));
  const alike: ClaimPlan = { limit: room, crowdedTypes: [], withheldTypes: [] };
  if (room === 0 || plugins.size < 2) return alike;
  for (const type of held) {
    const plugin = type === undefined ? undefined : pluginOf.get(type);
    if (plugin !== undefined) plugins.set(plugin, (plugins.get(plugin) ?? 0) + 1);
  }
  const share = Math.ceil(workers / 2);
  const most = Math.max(0, ...[...plugins.values()].filter((count) => count < share));
  const limit = Math.min(room, share - most);
  const crowded = [...pluginOf].flatMap(([type, plugin]) => ((plugins.get(plugin) ?? 0) >= share ? [type] : []));
  if (crowded.length === 0) return { ...alike, limit };
  if (idle === 0) return { ...alike, limit, withheldTypes: crowded };
  return { ...alike, limit: Math.min(limit, idle), crowdedTypes: crowded };
}
