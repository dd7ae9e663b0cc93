// GET /admin/reports/object-store/list-all: every object of the store, one line each, straight from the store's listing. A
// listing that fails in the middle cuts the answer off, so that it cannot be taken for whole.

import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { type Route, refusals } from '../../kernel/pipeline/route.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

interface ObjectListingOptions {
  readonly store: Pick<ObjectStore, 'list'>;
}

/** Characters gathered before they are handed on. */
const PIECE = 16 * 1024;
const CONTENT_TYPE = 'text/plain; charset=utf-8';

export function objectListingRoute({ store }: ObjectListingOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/object-store/list-all',
    access: 'admin',
    operationId: 'reportObjects',
    summary: 'Lists every object of the object store',
    responses: {
      200: {
        description:
          'One line per object, in the order of keys: key, bytes and time of the last change (RFC 3339), with tabs between. ' +
          'Backslash, tab and line ends in a key are written \\\\, \\t, \\n and \\r.',
        contentType: 'text/plain',
        schema: { type: 'string' },
      },
      ...refusals(ADMIN_REFUSALS),
    },
    handler: (context) =>
      context.textStream(
        { 'content-type': CONTENT_TYPE, 'cache-control': 'no-store' },
        objectLines(store, context.signal),
      ),
  };
}

async function* objectLines(
  store: ObjectListingOptions['store'],
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  let text = '';
  for await (const { key, size, modified } of store.list('', {}, signal)) {
    text += `${escaped(key)}\t${size}\t${modified.toISOString()}\n`;
    if (text.length < PIECE) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const escaped = (key: string): string => key.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character);
