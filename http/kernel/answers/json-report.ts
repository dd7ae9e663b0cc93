// A report of any length as text, in constant memory: a JSON object with one list, and after it what is known only at the
// list's end.

import { stringifyJson } from '../../../engine/model/json.ts';
import { Items } from '../../../engine/runtime/items.ts';
import type { RequestContext } from '../pipeline/context.ts';
import { jsonListText } from './json-list.ts';
import { JSON_TYPE } from './json-type.ts';

export interface ReportText {
  /** Members before the list. */
  readonly head?: Readonly<Record<string, unknown>>;
  /** The member that holds the list. */
  readonly name: string;
  readonly items: AsyncIterable<unknown>;
  /** The other members; asked for at the end. */
  readonly rest?: (count: number) => Readonly<Record<string, unknown>>;
}

/** Answers 200. As with any list, a failure in the middle cuts the answer off, so that it cannot be taken for whole. */
export function jsonReport(context: RequestContext, report: ReportText): Promise<void> {
  const headers = { 'content-type': JSON_TYPE, 'cache-control': 'no-store' };
  return context.textStream(headers, context.inTurn(reportText(report)));
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
