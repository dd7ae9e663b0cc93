// Ids of users' studies as front ends know them: deployed ones put a text of their own before the id of the dataset. We
// show it so and take it with that text and without it, wherever a dataset is named. No curated dataset's id may begin
// with the text.

import { parseEndUserId, type RequestKey } from '../../engine/model/access-request.ts';
import type { DatasetId } from '../../engine/model/ids.ts';

export class StudyIds {
  readonly #prefix: string;

  /** @param prefix empty = ids are shown as they are */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  shown(dataset: DatasetId): string {
    return `${this.#prefix}${dataset}`;
  }

  /** The id of the dataset, whatever it is of. @param asked of a body it may be no text, which its schema has told already */
  bare(asked: unknown): string {
    const text = String(asked);
    return text.startsWith(this.#prefix) ? text.slice(this.#prefix.length) : text;
  }

  /** Of `{user id}-{dataset id}`. */
  requestKey(asked: string): RequestKey | undefined {
    const dataset = asked.indexOf('-') + 1;
    return parseEndUserId(asked.slice(0, dataset) + this.bare(asked.slice(dataset)));
  }
}
