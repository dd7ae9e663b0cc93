// The filter of problems that is in the address. The server checks it.

import type { Schemas } from '../../api/schemas.ts';

export type Asked = Readonly<Record<string, string>>;
export type Order = Omit<Schemas['ProblemRetry'], 'dryRun' | 'after'>;

const FIELDS = [
  ...['lane', 'state', 'plugin', 'type', 'target', 'owner', 'dataset', 'contains', 'cause', 'from', 'before'],
] as const;

/** Without what the address has besides. */
export const filterOf = (asked: Asked): Omit<Order, 'ids' | 'all'> =>
  Object.fromEntries(FIELDS.flatMap((name) => (asked[name] ? [[name, asked[name]]] : [])));
