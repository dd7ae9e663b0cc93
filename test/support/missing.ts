// What a machine lacks that tests need, and what its user can do about it.

export interface Missing {
  readonly names: readonly string[];
  /** Where it comes from. */
  readonly from: string;
  /** What the user can do to have it. */
  readonly get: string;
}

/** Ends this process when anything is missing. */
export function demandNone(missing: readonly Missing[], leaveOut?: string): void {
  if (missing.length === 0) return;
  console.error(missingText(missing, leaveOut));
  process.exit(1);
}

/** @param leaveOut the command that does without what is named after it; undefined where there is none */
function missingText(missing: readonly Missing[], leaveOut?: string): string {
  return missing
    .flatMap(({ names, from, get }) => [
      `missing: ${names.join(' ')}, from ${from}`,
      `  to have it: ${get}`,
      ...(leaveOut === undefined ? [] : [`  to do without it: ${[leaveOut, ...names].join(' --without ')}`]),
    ])
    .join('\n');
}
