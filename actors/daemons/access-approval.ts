// Periodically approves access requests whose waiting time is over. Every process runs this: each request is approved once, by
// whichever process gets to it first.

import type { AccessApprovals } from '../../engine/ports/access-requests.ts';
import type { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Random } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { Timer } from '../../engine/runtime/timer.ts';

export interface AccessApprovalOptions {
  readonly approvals: AccessApprovals;
  readonly periodMs: number | LiveSetting<number>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random?: Random;
}

/** The first run is immediate. A run returns the number of approved requests. */
export const approveWaited = (options: AccessApprovalOptions): Timer<number> =>
  new Timer({
    ...options,
    name: 'accessApproval',
    firstMs: 0,
    runOnce: (signal) => options.approvals.approveWaited(new Date(options.clock.now()), signal),
  });
