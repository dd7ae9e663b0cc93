// JSON of any length as text, in constant memory: a list, an object with one list (a report), or an object with one map. A
// failure in the middle cuts the response off, so that clients cannot mistake it for a complete one.

import { stringifyJson } from '../../../engine/model/json.ts';
import { Items, startingWith } from '../../../engine/runtime/items.ts';
import type { RequestContext } from '../pipeline/context.ts';

/**
 * The media type of every JSON response, errors included. It has no parameters: JSON is UTF-8 by definition (RFC 8259, 8.1),
 * and deployed clients compare the header with exactly this text.
 */
export const JSON_TYPE = 'application/json';

const STREAMED = { 'content-type': JSON_TYPE, 'cache-control': 'no-store' };

/** Characters collected for a piece, so that many small items need one write. */
const PIECE = 64 * 1024;

/**
 * Yields nothing before the first item, so that a failure of the first item can still become an ordinary error response.
 * @param counts called for each item
 */
export function jsonListText(items: AsyncIterable<unknown>, counts: () => void = () => {}): Items<string> {
  const source = items[Symbol.asyncIterator]();
  let before = '[';
  let ended = false;
  const read = async (): Promise<string | undefined> => {
    let text = '';
    while (text.length < PIECE && !ended) {
      const next = await source.next();
      ended = next.done === true;
      if (next.done) text += before === '[' ? '[]' : ']';
      else {
        counts();
        text += before + stringifyJson(next.value);
        before = ',';
      }
    }
    return text === '' ? undefined : text;
  };
  return new Items(read, () => source.return?.());
}

export interface ReportText {
  /** Members before the list. */
  readonly head?: Readonly<Record<string, unknown>>;
  /** The member that holds the list. */
  readonly name: string;
  readonly items: AsyncIterable<unknown>;
  /** The other members; called at the end with the number of items. */
  readonly rest?: (count: number) => Readonly<Record<string, unknown>>;
}

/** Sends a 200. */
export function jsonReport(context: RequestContext, report: ReportText): Promise<void> {
  return context.textStream(STREAMED, context.inTurn(reportText(report)));
}

/** Yields nothing before the first items. */
export function reportText({ head: before = {}, name, items, rest }: ReportText): Items<string> {
  let count = 0;
  const list = jsonListText(items, () => count++);
  const members = stringifyJson(before).slice(0, -1);
  let head = `${members}${members === '{' ? '' : ','}${JSON.stringify(name)}:`;
  let ended = false;
  const read = async (): Promise<string | undefined> => {
    if (ended) return undefined;
    const next = await list.next();
    if (!next.done) {
      const piece = head === '' ? next.value : head + next.value;
      head = '';
      return piece;
    }
    ended = true;
    // The members without the opening brace; a comma replaces it.
    const tail = rest ? stringifyJson(rest(count)).slice(1) : '}';
    return tail === '}' ? tail : `,${tail}`;
  };
  return new Items(read, () => list.return());
}

type MapBatch = readonly (readonly [name: string, value: unknown])[];

interface MapText {
  /** The members before the map. */
  readonly head: Readonly<Record<string, unknown>>;
  /** The member that is the map. */
  readonly name: string;
  /** The entries in batches. No name may occur twice. */
  readonly entries: AsyncIterable<MapBatch>;
}

/** A map with at most this many batches is sent as a whole. */
const FEW_BATCHES = 4;

/** Sends a 200. */
export async function jsonMapReport(context: RequestContext, map: MapText): Promise<void> {
  const { head, name } = map;
  const batches = map.entries[Symbol.asyncIterator]();
  const begun: MapBatch[] = [];
  while (begun.length <= FEW_BATCHES) {
    const next = await batches.next();
    if (next.done) return context.json(200, { ...head, [name]: Object.fromEntries(begun.flat()) });
    begun.push(next.value);
  }
  return context.textStream(STREAMED, context.inTurn(mapText({ head, name, entries: startingWith(begun, batches) })));
}

/** Yields one piece for each batch, and nothing before the first batch. */
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
