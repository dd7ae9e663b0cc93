// Settings of the running process, which an administrator may change.

import type { LogLevel } from '../model/log-level.ts';

export interface AppliedSetting {
  /** Key path in the configuration file. */
  readonly path: string;
  /** The value as it is written in the file. */
  readonly from: unknown;
  readonly to: unknown;
}

export interface ReloadReport {
  /** Settings that were applied. */
  readonly applied: readonly AppliedSetting[];
  /** Settings that differ from the running ones and need a restart. */
  readonly needsRestart: readonly { readonly path: string }[];
  /** How many settings are unchanged. */
  readonly unchanged: number;
}

export interface SettingFault {
  /** Key path; empty for the file as a whole. */
  readonly path: string;
  /** The message that the program prints at startup. */
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
   * Reloads the configuration file and applies what may change without a restart; concurrent calls run one after the other.
   * Rejects as `transient` once the process shuts down.
   */
  reload(signal: AbortSignal): Promise<ReloadAnswer>;
  readonly logLevel: LogLevel;
  /** Lasts until the next reload or restart. Without a level: the next one of info, debug, trace. */
  setLogLevel(level?: LogLevel): LevelChange;
}
