// A JSON object of any length as text, in constant memory: some members, and one that is a map from names to values.

import { stringifyJson } from '../../../engine/model/json.ts';
import { startingWith } from '../../../engine/runtime/items.ts';
import type { RequestContext } from '../pipeline/context.ts';
import { JSON_TYPE } from './json-type.ts';

type MapBatch = readonly (readonly [name: string, value: unknown])[];

export interface MapText {
  /** What comes before the map. */
  readonly head: Readonly<Record<string, unknown>>;
  /** The member that is the map. */
  readonly name: string;
  /** Batch by batch; no name twice. */
  readonly entries: AsyncIterable<MapBatch>;
}

/** A map of no more batches goes out whole. */
const FEW_BATCHES = 4;

/** Answers 200. As with any list, a failure in the middle cuts the answer off, so that it cannot be taken for whole. */
export async function jsonMapReport(context: RequestContext, map: MapText): Promise<void> {
  const { head, name } = map;
  const batches = map.entries[Symbol.asyncIterator]();
  const begun: MapBatch[] = [];
  while (begun.length <= FEW_BATCHES) {
    const next = await batches.next();
    if (next.done) return context.json(200, { ...head, [name]: Object.fromEntries(begun.flat()) });
    begun.push(next.value);
  }
  const headers = { 'content-type': JSON_TYPE, 'cache-control': 'no-store' };
  return context.textStream(headers, context.inTurn(mapText({ head, name, entries: startingWith(begun, batches) })));
}

/** One piece for each batch; nothing comes before the first is there. */
export async function* mapText({ head, name, entries }: MapText): AsyncGenerator<string, void, undefined> {
  const before = stringifyJson(head).slice(0, -1);
  let start = `${before}${before === '{' ? '' : ','}${JSON.stringify(name)}:{`;
  let separator = '';
  for await (const batch of entries) {
    let text = start;
    for (const [key, value] of batch) {
      text += `${separator}${JSON.stringify(key)}:${stringifyJson(value)}`;
      separator = ',';
    }
    start = '';
    if (text !== '') yield text;
  }
  yield `${start}}}`;
}
