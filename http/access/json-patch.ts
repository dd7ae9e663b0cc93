// Bodies that are a JSON patch: 400 for what is no list of items, 422 with every fault for the rest.

import type { IncomingMessage } from 'node:http';
import { readJsonList } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import { Faults } from '../kernel/input/faults.ts';
import { badRequest } from '../kernel/pipeline/errors.ts';

export interface PatchItem {
  readonly op: string;
  readonly path: string;
  /** Undefined when there is none. */
  readonly value: unknown;
}

/** The items of a JSON patch, one or more; which of them are allowed is the caller's to say. */
export async function readPatch(request: IncomingMessage): Promise<readonly PatchItem[]> {
  const read = await readJsonList(request, 'patch items');
  if (read.length === 0) throw badRequest('the body is an empty list; at least one patch item is needed');
  const faults = new Faults();
  const items = read.map((item: unknown, i) => patchItem(item, i, faults));
  faults.throwIfAny();
  return items;
}

function patchItem(item: unknown, i: number, faults: Faults): PatchItem {
  const { op, path, value } = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : {};
  for (const [name, given] of Object.entries({ op, path }))
    if (typeof given !== 'string') faults.add([i, name], `is ${describeValue(given)}; text is required`);
  return { op: String(op), path: String(path), value };
}

/** The value of a patch that may only replace one flag; of several items the last decides. */
export async function readFlagPatch(request: IncomingMessage, path: string): Promise<boolean> {
  const items = await readPatch(request);
  const faults = new Faults();
  for (const [i, item] of items.entries()) {
    if (item.op !== 'replace') faults.add([i, 'op'], `is ${describeValue(item.op)}; allowed is 'replace'`);
    if (item.path !== path) faults.add([i, 'path'], `is ${describeValue(item.path)}; allowed is '${path}'`);
    if (typeof item.value !== 'boolean')
      faults.add([i, 'value'], `is ${describeValue(item.value)}; true or false is required`);
  }
  faults.throwIfAny();
  return items.at(-1)?.value === true;
}
