// The routes of the report job service, with everything they stand on handed in (contract 3, part A).

import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { QueryJobs } from '../../engine/ports/query-jobs.ts';
import type { ReportCollections } from '../../engine/ports/report-collections.ts';
import type { ReportJobs } from '../../engine/ports/report-jobs.ts';
import type { ReportExpiry } from '../../engine/ports/report-queue.ts';
import type { HealthOptions } from '../access/health.ts';
import { healthRoute } from '../access/health.ts';
import type { Route } from '../route.ts';
import type { TokenVerifier } from '../tokens.ts';

/** `dependencies`, `clock` and `threads` are those of its own `/health`. */
export interface ReportParts extends HealthOptions {
  readonly jobs: ReportJobs;
  readonly collections: ReportCollections;
  readonly expiry: Pick<ReportExpiry, 'expire' | 'expireOne'>;
  readonly queries: Pick<QueryJobs, 'find'>;
  readonly store: Pick<ObjectStore, 'get' | 'head'>;
  /** Of the token by which a guest's collection is claimed; the one of the front end. */
  readonly verify: TokenVerifier | undefined;
  readonly limits: ReportLimits;
}

export interface ReportLimits {
  /** Jobs that may wait. */
  readonly maxQueued: number;
  /** Milliseconds after which a job that failed is run again for the same request. */
  readonly retryAfterMs: number;
}

export const reportRoutes = (parts: ReportParts): readonly Route[] => [healthRoute(parts)];
