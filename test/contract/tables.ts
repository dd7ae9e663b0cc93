// The rows of every service. A test that proves a row has the row's id as its name; check.ts finds rows without a test
// that ran and passed, and tests without a row. Ids of later services begin with the service's name, so that none is two.

import { ACCESS_ROWS } from './access.ts';
import { HANDLER_ROWS } from './handler.ts';
import { INSTALLER_ROWS } from './installer.ts';
import { REPORT_ROWS } from './report.ts';

export const TABLES = {
  installer: INSTALLER_ROWS,
  handler: HANDLER_ROWS,
  report: REPORT_ROWS,
  access: ACCESS_ROWS,
} as const;
export type Service = keyof typeof TABLES;

/** By id: what the contract says, in short. */
export const ROWS: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(TABLES));
/** Of which there is something to prove. */
export const SERVICES = (Object.keys(TABLES) as Service[]).filter((name) => Object.keys(TABLES[name]).length > 0);
