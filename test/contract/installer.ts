// Every row of the installer as data.

import { ENDPOINT_ROWS } from './endpoints.ts';
import { FIELD_ROWS } from './fields.ts';
import { RULE_ROWS } from './rules.ts';

/** By id: what the contract says, in short. */
export const INSTALLER_ROWS = { ...FIELD_ROWS, ...ENDPOINT_ROWS, ...RULE_ROWS } as const;
export type RowId = keyof typeof INSTALLER_ROWS;
