// What unpacking an archive of a user may cost: bytes are bounded elsewhere, but a small archive can be much work.

import { duration, filled, integer } from './field.ts';
import type { Loaded } from './loaded.ts';

export const archives = filled('What unpacking one archive of a user may cost; more is refused.', {
  maxEntries: integer('Entries, folders included.', { minimum: 1, maximum: 100_000, default: 10_000 }),
  maxNamesSize: integer('Bytes of the names of all entries.', {
    minimum: 1_024,
    maximum: 67_108_864,
    default: 2_097_152,
  }),
  maxDuration: duration('Time, with that of writing what comes out.', '15m', { positive: true }),
});
export type ArchivesConfiguration = Loaded<typeof archives>;
