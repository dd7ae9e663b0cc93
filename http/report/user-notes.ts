// What users note about jobs, as bodies have it. A field that is null is an absent one, but in a patch, where null clears.

import type { UserMetaChange } from '../../engine/model/report/report-job.ts';
import { withoutNulls } from '../kernel/bodies/body.ts';

/** Of a user's notes that were checked: nulls are no part of them. */
export const givenMeta = (value: unknown): UserMetaChange => withoutNulls(metaOf(value)) as UserMetaChange;

/** As a change, in which null clears: all of the notes, or one of them. */
export const changedMeta = (value: unknown): UserMetaChange =>
  value === null ? { summary: null, description: null } : metaOf(value);

const metaOf = (value: unknown): UserMetaChange => (typeof value === 'object' && value !== null ? value : {});
