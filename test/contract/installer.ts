// Every row of contract 1 as data. A test that proves a row has the row's id as its name; check.ts finds rows without a
// test that ran and passed, and tests without a row.

import { ENDPOINT_ROWS } from './endpoints.ts';
import { FIELD_ROWS } from './fields.ts';
import { RULE_ROWS } from './rules.ts';

/** By id: what the contract says, in short. */
export const ROWS = { ...FIELD_ROWS, ...ENDPOINT_ROWS, ...RULE_ROWS } as const;
export type RowId = keyof typeof ROWS;
