// The ETag of a dataset's details: `"{version of the metadata}.{hash of the whole answer}"`. The whole tag changes with
// everything that is shown, statuses included, so that a cache never shows an old one; an edit with If-Match is about
// the metadata alone and compares the part before the dot.

import type { IncomingHttpHeaders } from 'node:http';
import { stringifyJson } from '../../../engine/model/json.ts';
import type { ObjectVersion } from '../../../engine/ports/catalog.ts';
import { tagOf } from '../../kernel/answers/conditional.ts';
import { preconditionFailed } from '../../kernel/pipeline/errors.ts';

/** In quotes. `metadata` is undefined when the cache has not seen the stored document. */
export function datasetTag(metadata: ObjectVersion | undefined, answer: unknown): string {
  const hash = tagOf(stringifyJson(answer)).slice(1, -1);
  return `"${metadata?.etag ?? ''}.${hash}"`;
}

/** 412 when the request has an `If-Match`, and none of its tags is of this version of the metadata. */
export function requireMetadataMatch(headers: IncomingHttpHeaders, metadata: ObjectVersion | undefined): void {
  const wanted = headers['if-match'];
  if (wanted === undefined || wanted.trim() === '*') return;
  const versions = wanted.split(',').map((tag) => /^(?:W\/)?"(.*)\.[^.]*"$/.exec(tag.trim())?.[1]);
  if (metadata === undefined || !versions.includes(metadata.etag))
    throw preconditionFailed(`If-Match ${wanted}: the metadata have changed since; read the dataset again`);
}
