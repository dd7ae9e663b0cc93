// The first seed that finds each planted bug. Written by `npm run test:simulation -- --record`: when the simulation changes,
// other seeds find them.

import type { Bug } from './bugs.ts';

export const PLANTED: Readonly<Record<Bug, number>> = {
  'lost-ack': 268,
  'dropped-event': 720,
  'double-install': 1,
  unfenced: 20,
  'taken-rows': 27,
};
