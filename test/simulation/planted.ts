// The first seed that finds each planted bug. Written by `npm run test:simulation -- --record`: when the simulation changes,
// other seeds find them.

import type { Bug } from './bugs.ts';

export const PLANTED: Readonly<Record<Bug, number>> = {
  'lost-ack': 994,
  'dropped-event': 29,
  'double-install': 6,
  unfenced: 16,
  'taken-rows': 8,
};
