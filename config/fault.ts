// One thing that is wrong with a configuration file: where it stands, what was found there and what is allowed.

export interface ConfigFault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** Key path such as `installer.lanes.import.workerCount`; empty for the file as a whole. */
  readonly path: string;
  /** Never holds a secret, nor the value behind a placeholder. */
  readonly found: string;
  readonly allowed: string;
}

/** One line for a person: `FILE:LINE:COLUMN: PATH: found .., allowed: ..`. */
export function formatFault(fault: ConfigFault): string {
  const path = fault.path === '' ? '' : `${fault.path}: `;
  return `${fault.file}:${fault.line}:${fault.column}: ${path}found ${fault.found}; allowed: ${fault.allowed}`;
}
