// What people do about installs that were given up because the plugin or the target failed too often: the only lasting
// harm that faults from outside may do.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import type { InstallKind } from '../../engine/model/status.ts';
import type { DatasetPlan } from './plan.ts';
import type { World } from './world.ts';

const never = new AbortController().signal;

/** False when there was nothing to repair. */
export async function repair(world: World, plans: readonly DatasetPlan[]): Promise<boolean> {
  let repaired = false;
  for (const plan of plans) {
    // What is on its way out is not installed again.
    if (world.catalog.datasets.get(plan.dataset)?.state !== 'live') continue;
    const rows = [...(world.schema.rows.get(plan.dataset)?.targets ?? [])];
    for (const [target, { state }] of rows) {
      for (const kind of ['data', 'meta'] as const) {
        const said = state.messages[kind];
        if (said?.status !== 'failed-installation' || said.message === ownFailure(plan, target, kind)) continue;
        repaired = true;
        await again(world, plan, target, kind);
      }
    }
  }
  return repaired;
}

/** What the plugin's script says when it is the dataset's own fault. */
function ownFailure({ verdicts }: DatasetPlan, target: TargetId, kind: InstallKind): string | undefined {
  const verdict = verdicts[kind].get(target);
  return verdict?.kind === 'script-error' ? verdict.message : undefined;
}

async function again(world: World, plan: DatasetPlan, target: TargetId, kind: InstallKind): Promise<void> {
  const { owner } = plan;
  const dataset: DatasetId = plan.dataset;
  if (!world.mayHaveGivenUp(dataset))
    world.violate(`${dataset} failed to install (${kind}) on ${target} without cause`);
  world.trace.note(`administrator: ${kind} of ${dataset} on ${target} again`);
  if (kind === 'meta') {
    const key = objectKey(plan, 'vdi-meta.json');
    await world.store.put(key, Buffer.from(world.store.text(key) ?? ''), {}, never);
    return;
  }
  const token = world.schema.rows.get(dataset)?.token ?? 0;
  await world.targets
    .get(target)
    ?.write(dataset, { messages: { data: { status: 'ready-for-reinstall' } } }, token, never);
  world.jobs.enqueue({ lane: 'install', dataset, owner, eventId: world.events.nextId(), source: 'admin' });
}
