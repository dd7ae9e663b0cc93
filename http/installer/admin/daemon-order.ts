// What orders to a daemon are answered when they are not followed.

import type { OrderAnswer } from '../../../engine/ports/daemon-orders.ts';
import { conflict } from '../../kernel/pipeline/errors.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export const ORDER_REFUSALS = {
  ...ADMIN_REFUSALS,
  400: 'A query parameter is wrong',
  409: 'A run is under way, or another process runs this daemon',
  503: 'The daemon does not run yet',
} as const;

/** Throws 409 unless the run has begun. */
export function requireStarted(daemon: string, answer: OrderAnswer): void {
  switch (answer) {
    case 'started':
      return;
    case 'running':
      throw conflict(`a run of the ${daemon} is under way; its report is at GET on the same path`);
    case 'elsewhere':
      throw conflict(`another process of this installation runs the ${daemon}; ask that one`);
    default:
      throw answer satisfies never;
  }
}
