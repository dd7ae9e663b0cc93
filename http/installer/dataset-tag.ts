// The ETag of a dataset's details: `"{version of the metadata}.{hash of the whole answer}"`. The whole tag changes with
// everything that is shown, statuses included, so that a cache never shows an old one; an edit with If-Match is about
// the metadata alone and compares the part before the dot.

import { stringifyJson } from '../../engine/model/json.ts';
import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import { tagOf } from '../conditional.ts';

/** In quotes. `metadata` is undefined when the cache has not seen the stored document. */
export function datasetTag(metadata: ObjectVersion | undefined, answer: unknown): string {
  const hash = tagOf(stringifyJson(answer)).slice(1, -1);
  return `"${metadata?.etag ?? ''}.${hash}"`;
}
