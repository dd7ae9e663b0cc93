// JSON of any length as text, in constant memory: a list, an object with one list (a report), an object with one map. As with any
// stream, a failure in the middle cuts the answer off, so that it cannot be taken for whole.

import { stringifyJson } from '../../../engine/model/json.ts';
import { Items, startingWith } from '../../../engine/runtime/items.ts';
import type { RequestContext } from '../pipeline/context.ts';

/**
 * The media type of every JSON answer, errors included. Without parameters: JSON is UTF-8 by definition (RFC 8259, 8.1), and
 * deployed clients compare the header with this very text.
 */
export const JSON_TYPE = 'application/json';

const STREAMED = { 'content-type': JSON_TYPE, 'cache-control': 'no-store' };

/** Characters gathered before they are handed on: one write for many small items. */
const PIECE = 64 * 1024;

/**
 * Nothing comes before the first item is there, so that a failure of the first can still be an ordinary error.
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
  /** The other members; asked for at the end. */
  readonly rest?: (count: number) => Readonly<Record<string, unknown>>;
}

/** Answers 200. */
export function jsonReport(context: RequestContext, report: ReportText): Promise<void> {
  return context.textStream(STREAMED, context.inTurn(reportText(report)));
}

/** Nothing comes before the first items are there. */
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
    // What follows an object's opening brace, with a comma instead.
    const tail = rest ? stringifyJson(rest(count)).slice(1) : '}';
    return tail === '}' ? tail : `,${tail}`;
  };
  return new Items(read, () => list.return());
}

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

/** Answers 200. */
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
