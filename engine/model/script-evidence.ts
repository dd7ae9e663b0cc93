// Exit code and output of a script that failed, for operators. Owners read the dataset's status.

export interface ScriptEvidence {
  readonly exitCode?: number | undefined;
  /** The end of what it printed, at most {@link OUTPUT_BYTES}. */
  readonly output?: string | undefined;
}

/** Bytes of UTF-8. */
export const OUTPUT_BYTES = 8 * 1024;
