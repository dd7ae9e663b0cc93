// The sizes of a lane that an operator sets while the program runs, checked by the schema of the configuration file.

import type { SettingChange } from '../../config/changes.ts';
import { isMap, type Path, valueAt } from '../../config/path.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { nodeAt } from '../../config/schema-node.ts';
import { compileCheck } from '../../config/validate.ts';
import type { LaneSizes, SizingAnswer } from '../../engine/ports/process-control.ts';

/** How a reload applies them. */
export const LANE_BOUNDS = 'lane-bounds';
const NAMES = ['workerCount', 'inMemoryQueueSize'] as const;

type Sizing =
  | Exclude<SizingAnswer, { readonly kind: 'sized' }>
  | { readonly kind: 'sized'; readonly changes: readonly Pick<SettingChange, 'steps' | 'from' | 'to'>[] };

/** @param document the running settings, in the form of the file */
export function sizing(document: unknown, lane: string, sizes: LaneSizes): Sizing {
  const places = placesOf(document);
  const place = places.get(lane);
  const node = place && nodeAt(ROOT_SCHEMA, document, place);
  const before = place && valueAt(document, place);
  if (!place || !node || !isMap(before)) return { kind: 'unknown', lanes: [...places.keys()] };
  const findings = compileCheck(node)({ ...before, ...sizes }, () => undefined);
  if (findings.length > 0) {
    const faults = findings.map(({ path, found, allowed }) => ({
      path: path.join('.'),
      text: `found ${found}; allowed: ${allowed}`,
    }));
    return { kind: 'faulty', faults };
  }
  const changes = NAMES.flatMap((name) => {
    const [from, to] = [before[name], sizes[name]];
    return to === undefined || to === from ? [] : [{ steps: [...place, name], from, to }];
  });
  return { kind: 'sized', changes };
}

/** Where the lanes are whose sizes a reload applies. */
function placesOf(document: unknown): ReadonlyMap<string, Path> {
  const lanes = valueAt(document, ['installer', 'lanes']);
  const all: [string, Path][] = Object.keys(isMap(lanes) ? lanes : {}).map((name) => [
    name,
    ['installer', 'lanes', name],
  ]);
  if (valueAt(document, ['report', 'lane'])) all.push(['report', ['report', 'lane']]);
  const isLive = ([, place]: [string, Path]): boolean =>
    nodeAt(ROOT_SCHEMA, document, [...place, NAMES[0]])?.['x-live'] === LANE_BOUNDS;
  return new Map(all.filter(isLive));
}
