// A JSON array as text, in constant memory.

import { stringifyJson } from '../../../engine/model/json.ts';
import { Items } from '../../../engine/runtime/items.ts';

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
