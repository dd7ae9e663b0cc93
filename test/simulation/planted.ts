// The first seed that finds each planted bug. Written by `npm run test:simulation -- --record`: when the simulation changes,
// other seeds find them.

import type { Bug } from './bugs.ts';

export const PLANTED: Readonly<Record<Bug, number>> = {
  'lost-ack': 284,
  'dropped-event': 2511,
  'double-install': 1,
  unfenced: 117,
  'taken-rows': 18,
};
