// The query of a user's listing, and the batches in which its rows are read. Without `limit` and `offset` a listing is complete
// (docs/contract/installer.md#endpoints).

import type { TargetId } from '../../engine/model/ids.ts';
import { Items } from '../../engine/runtime/items.ts';
import { quote } from '../kernel/input/describe.ts';
import { badRequest } from '../kernel/pipeline/errors.ts';
import type { Query, QueryValue } from '../kernel/pipeline/query.ts';
import type { InstallTargets } from './install-targets.ts';

/** The largest integer that a JSON number carries without losing digits. */
const MAX = Number.MAX_SAFE_INTEGER;

export const paging = {
  limit: {
    description: 'Maximum number of items; -1 for all',
    schema: { type: 'integer', minimum: -1, maximum: MAX, default: -1 },
  },
  offset: { description: 'Number of items to skip', schema: { type: 'integer', minimum: 0, maximum: MAX, default: 0 } },
} as const;

interface Paging {
  readonly limit?: number;
  readonly offset?: number;
}

export const pagingOf = ({ limit, offset }: Query): Paging => ({
  ...(typeof limit === 'number' && limit >= 0 ? { limit } : {}),
  ...(typeof offset === 'number' ? { offset } : {}),
});

/** The install target that the query names. Undefined when it names none; throws 400 when there is no such target. */
export function askedTarget(
  targets: InstallTargets,
  parameter: string,
  asked: QueryValue | undefined,
): TargetId | undefined {
  if (asked === undefined) return undefined;
  const found = targets.find(String(asked));
  if (!found)
    throw badRequest(
      `query parameter '${parameter}' is ${quote(String(asked))}; install targets are ${targets.enabledIds()}`,
    );
  return found.id;
}

/** A batch has at most so many rows, and ends with the row that brings it to so many bytes. */
const BATCH = { rows: 100, bytes: 256 * 1024 };

/** The rows in batches, so that profiles and the like are looked up for many rows at once. */
export function inBatches<Row extends { readonly bytes: number }>(rows: AsyncIterable<Row>): Items<readonly Row[]> {
  const source = rows[Symbol.asyncIterator]();
  return new Items(
    async () => {
      const batch: Row[] = [];
      for (let bytes = 0; batch.length < BATCH.rows && bytes < BATCH.bytes; ) {
        const next = await source.next();
        if (next.done) break;
        batch.push(next.value);
        bytes += next.value.bytes;
      }
      return batch.length > 0 ? batch : undefined;
    },
    () => source.return?.(),
  );
}
