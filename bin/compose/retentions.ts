// What removes old rows of the cache database and of the services' databases.

import { auditRetention, historyRetention, keyRetention } from '../../actors/daemons/sweeps.ts';
import type { IdempotencyKeys } from '../../engine/ports/idempotency-keys.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import type { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { Core, CoreParts } from './open-core.ts';

interface RetentionParts extends CoreParts {
  readonly auditMs: number;
  readonly historyMs: LiveSetting<number>;
}

/** @param serviceKeys idempotency keys of the services that have a database of their own; undefined = not configured */
export function retentions(
  { audit, jobHistory: history, datasetEvents, keys }: Core,
  serviceKeys: readonly (IdempotencyKeys | undefined)[],
  { auditMs, historyMs, ...parts }: RetentionParts,
): readonly ChildSpec[] {
  const allKeys = [keys, ...serviceKeys].filter((one) => one !== undefined);
  return [
    { name: 'auditRetention', create: () => auditRetention({ audit, retentionMs: auditMs, ...parts }) },
    {
      name: 'historyRetention',
      create: () => historyRetention({ history, datasetEvents, retentionMs: historyMs, ...parts }),
    },
    { name: 'keyRetention', create: () => keyRetention({ keys: allKeys, ...parts }) },
  ];
}
