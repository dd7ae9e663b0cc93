// The first seed that finds each planted bug. Written by `npm run test:simulation -- --record`: when the simulation changes,
// other seeds find them.

import type { Bug } from './bugs.ts';

export const PLANTED: Readonly<Record<Bug, number>> = {
  'lost-ack': 215,
  'dropped-event': 116,
  'double-install': 1,
  unfenced: 125,
  'taken-rows': 2,
};
