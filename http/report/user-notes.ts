// The notes of users about jobs, as in request bodies. A null field counts as absent, except in a patch, where null clears it.

import type { UserMetaChange } from '../../engine/model/report/report-job.ts';
import { withoutNulls } from '../kernel/bodies/body.ts';

/** The notes in a checked body, without nulls. */
export const givenMeta = (value: unknown): UserMetaChange => withoutNulls(metaOf(value)) as UserMetaChange;

/** The notes as a change. Null clears one of the notes, or all of them. */
export const changedMeta = (value: unknown): UserMetaChange =>
  value === null ? { summary: null, description: null } : metaOf(value);

const metaOf = (value: unknown): UserMetaChange => (typeof value === 'object' && value !== null ? value : {});
