// Settings of the process that runs, as an administrator changes them meanwhile.

import type { LogLevel } from '../model/log-level.ts';

export interface AppliedSetting {
  /** Key path in the configuration file. */
  readonly path: string;
  /** In the file's words. */
  readonly from: unknown;
  readonly to: unknown;
}

export interface ReloadReport {
  /** What was taken over. */
  readonly applied: readonly AppliedSetting[];
  /** What differs from what runs, and will be taken over by a restart. */
  readonly needsRestart: readonly { readonly path: string }[];
  /** How many settings are as they were. */
  readonly unchanged: number;
}

export interface SettingFault {
  /** Key path; empty for the file as a whole. */
  readonly path: string;
  /** As the start of the program prints it. */
  readonly text: string;
}

export type ReloadAnswer =
  | { readonly kind: 'reloaded'; readonly report: ReloadReport }
  /** Nothing was changed. */
  | { readonly kind: 'faulty'; readonly faults: readonly SettingFault[] };

export interface LevelChange {
  readonly from: LogLevel;
  readonly to: LogLevel;
}

export interface ProcessSettings {
  /**
   * Reads the configuration file anew and takes over what may change without a restart; one after the other when asked
   * twice. Rejects as `transient` once the process ends.
   */
  reload(signal: AbortSignal): Promise<ReloadAnswer>;
  readonly logLevel: LogLevel;
  /** Until the next reload, or restart. Without a level: the next of info, debug, trace. */
  setLogLevel(level?: LogLevel): LevelChange;
}
