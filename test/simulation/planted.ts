// The first seed that finds each planted bug. Written by `npm run test:simulation -- --record`: when the simulation changes,
// other seeds find them.

import type { Bug } from './bugs.ts';

export const PLANTED: Readonly<Record<Bug, number>> = {
  'lost-ack': 494,
  'dropped-event': 4427,
  'double-install': 2,
  unfenced: 19,
  'taken-rows': 18,
};
