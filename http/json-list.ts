// A JSON array as text, in constant memory.

import { stringifyJson } from '../engine/model/json.ts';

/** Characters gathered before they are handed on: one write for many small items. */
const PIECE = 64 * 1024;

/** Nothing comes before the first item is there, so that a failure of the first can still be an ordinary error. */
export async function* jsonListText(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  let text = '[';
  let separator = '';
  for await (const item of items) {
    text += separator + stringifyJson(item);
    separator = ',';
    if (text.length < PIECE) continue;
    yield text;
    text = '';
  }
  yield `${text}]`;
}
