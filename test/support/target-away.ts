// An install target of a LaneWorld that can be told to fail. Processes made before do not notice.

import assert from 'node:assert/strict';
import type { TargetId } from '../../engine/model/ids.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { LaneWorld } from './lane-world.ts';

/** While `reason` is set, the named methods of the target throw it. */
export function targetAway(
  world: LaneWorld,
  id: TargetId,
  methods: readonly (keyof InstallTarget)[] = [
    'state',
    'write',
    'removeMessage',
    'writeVisibility',
    'setDeleted',
    'purge',
  ],
): { reason: Error | undefined } {
  const switched: { reason: Error | undefined } = { reason: undefined };
  const target = world.targets.get(id);
  assert(target, `no target ${id}`);
  const behind = new Proxy<InstallTarget>(target, {
    get: (of, property) => {
      const member: unknown = Reflect.get(of, property, of);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]): Promise<unknown> => {
        if (switched.reason && (methods as readonly unknown[]).includes(property)) throw switched.reason;
        return Reflect.apply(member, of, args);
      };
    },
  });
  world.targets.set(id, behind);
  return switched;
}
