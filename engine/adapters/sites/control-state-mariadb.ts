// What one install target knows of a dataset, on MariaDB: the columns to select from its control schema, the tables that they
// are from, and how to map them.

import type { ControlState } from '../../ports/install-target.ts';
import { type ControlStateRow, controlState } from './control-state-postgres.ts';

const KINDS = ['meta', 'data'] as const;
const PARTS = ['meta', 'data', 'shares'] as const;

/** Columns of the schema's `dataset d`, `dataset_install i`, and of {@link stateJoins}. */
export const STATE = [
  'd.type_name, d.type_version, i.deleted_status',
  ...KINDS.map(
    (kind) => `m_${kind}.status as ${kind}_status, m_${kind}.message as ${kind}_message,
    m_${kind}.updated as ${kind}_updated`,
  ),
  ...PARTS.map((part) => `c_${part}.etag as ${part}_etag, c_${part}.modified as ${part}_modified`),
].join(', ');

/** `schema` is a quoted identifier. */
export const stateJoins = (schema: string): string =>
  [
    ...KINDS.map(
      (kind) => `left join ${schema}.dataset_install_message m_${kind} on m_${kind}.dataset_id = i.dataset_id
      and m_${kind}.target_id = i.target_id and m_${kind}.install_type = '${kind}'`,
    ),
    ...PARTS.map(
      (part) => `left join ${schema}.sync_control c_${part} on c_${part}.dataset_id = i.dataset_id
      and c_${part}.target_id = i.target_id and c_${part}.part = '${part}'`,
    ),
  ].join('\n');

type Kind = (typeof KINDS)[number];
type Part = (typeof PARTS)[number];
type Message = NonNullable<ControlStateRow['messages']>[number];

/** All columns of a message, or of a version, are null if there is none. */
export type MariaDbStateRow = Pick<ControlStateRow, 'type_name' | 'type_version' | 'deleted_status'> & {
  readonly [K in Kind as `${K}_status`]: Message[1] | null;
} & { readonly [K in Kind as `${K}_message`]: string | null } & {
  readonly [K in Kind as `${K}_updated`]: Date | null;
} & {
  readonly [P in Part as `${P}_etag`]: string | null;
} & { readonly [P in Part as `${P}_modified`]: Date | null };

export function mariaDbState(row: MariaDbStateRow): ControlState {
  return controlState({
    ...row,
    messages: KINDS.flatMap((kind): Message[] => {
      const [status, updated] = [row[`${kind}_status`], row[`${kind}_updated`]];
      return status && updated ? [[kind, status, row[`${kind}_message`], updated.getTime()]] : [];
    }),
    syncs: PARTS.flatMap((part): NonNullable<ControlStateRow['syncs']> => {
      const [etag, modified] = [row[`${part}_etag`], row[`${part}_modified`]];
      return etag !== null && modified ? [[part, etag, modified.getTime()]] : [];
    }),
  });
}
