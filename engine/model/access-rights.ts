// What a person may do with a dataset. Depends on the dataset's restriction level, the person's role in it, and the time
// (docs/contract/access.md#permissions).

export const RESTRICTION_LEVELS = ['public', 'prerelease', 'protected', 'controlled', 'private'] as const;
export type RestrictionLevel = (typeof RESTRICTION_LEVELS)[number];

export interface ActionAuthorization {
  readonly studyMetadata: boolean;
  /** Counts and distributions. */
  readonly subsetting: boolean;
  readonly visualizations: boolean;
  /** Offset 0, at most 20 records. */
  readonly resultsFirstPage: boolean;
  /** Any other tabular response. */
  readonly resultsAll: boolean;
}

export const ALL_ACTIONS: ActionAuthorization = {
  studyMetadata: true,
  subsetting: true,
  visualizations: true,
  resultsFirstPage: true,
  resultsAll: true,
};

const NO_ACTIONS: ActionAuthorization = {
  studyMetadata: false,
  subsetting: false,
  visualizations: false,
  resultsFirstPage: false,
  resultsAll: false,
};

const EXPLORE: ActionAuthorization = { ...ALL_ACTIONS, resultsAll: false };
/** Reading about a dataset, and nothing else. */
export const METADATA_ACTIONS: ActionAuthorization = { ...NO_ACTIONS, studyMetadata: true };

/** For people without a role in the dataset: no grant in force, neither staff nor provider. */
const OPEN_ACTIONS: Readonly<Record<RestrictionLevel, ActionAuthorization>> = {
  public: ALL_ACTIONS,
  controlled: EXPLORE,
  protected: EXPLORE,
  private: METADATA_ACTIONS,
  prerelease: METADATA_ACTIONS,
};

/** @param privileged staff, a provider of the dataset, or the holder of a grant in force */
export const actionsFor = (level: RestrictionLevel, privileged: boolean): ActionAuthorization =>
  privileged ? ALL_ACTIONS : OPEN_ACTIONS[level];

export interface Grant {
  readonly approvalStatus: 'requested' | 'approved' | 'denied';
  readonly startDate: Date;
  /** Zero or less = no end. */
  readonly durationDays: number;
}

const DAY_MS = 86_400_000;

/** Approved, started, and not expired: from `startDate` (inclusive) to `startDate` plus the duration (exclusive). */
export function isInForce({ approvalStatus, startDate, durationDays }: Grant, nowMs: number): boolean {
  const startMs = startDate.getTime();
  if (approvalStatus !== 'approved' || nowMs < startMs) return false;
  return durationDays <= 0 || nowMs < startMs + durationDays * DAY_MS;
}
