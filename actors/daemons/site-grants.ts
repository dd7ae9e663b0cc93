// Tells the sites every few seconds which grants of users' datasets changed. Every process runs this: a site that knows a
// change already is not told again. An unavailable site does not delay the others and catches up when it is back. Until then it
// shows the last grants that it knows; grants with an expiry still expire there.

import type { TargetId } from '../../engine/model/ids.ts';
import type { AccessApprovals, GrantChanges, SiteGrants } from '../../engine/ports/access-requests.ts';
import { messageOf, transient } from '../../engine/runtime/failure.ts';
import type { LiveSetting } from '../../engine/runtime/live-setting.ts';
import { deadline } from '../../engine/runtime/time.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';

interface SiteGrantsOptions extends TimerParts {
  readonly changes: GrantChanges;
  readonly sites: readonly SiteGrants[];
  readonly periodMs: number;
}

/** Deadline for all pages of one site. */
const SITE_MS = 20_000;

/** A run returns the number of changes that were delivered. */
export function tellSites(options: SiteGrantsOptions): Timer<number> {
  const log = options.log.child({ actor: 'siteGrants' });
  const away = new Set<TargetId>();
  return new Timer({
    ...options,
    name: 'siteGrants',
    firstMs: 0,
    async runOnce(signal) {
      const source = await options.changes.source(signal);
      const told = await Promise.all(
        options.sites.map(async (site) => {
          try {
            const count = await tellSite(options, site, source, signal);
            if (away.delete(site.id)) log.info({ target: site.id }, 'a site receives grant changes again');
            return count;
          } catch (error) {
            signal.throwIfAborted();
            if (!away.has(site.id))
              log.warn({ target: site.id, err: messageOf(error) }, 'a site cannot receive grant changes');
            away.add(site.id);
            return 0;
          }
        }),
      );
      return told.reduce((sum, count) => sum + count, 0);
    },
  });
}

async function tellSite(
  { changes, clock }: SiteGrantsOptions,
  site: SiteGrants,
  source: string,
  signal: AbortSignal,
): Promise<number> {
  using limit = deadline(clock, SITE_MS, signal, () => transient(`no response within ${SITE_MS} ms`));
  const within = <Result>(work: Promise<Result>): Promise<Result> => unlessAborted(work, limit.signal);
  let told = 0;
  for (let known = await within(site.known(source, limit.signal)); ; ) {
    const page = await within(changes.after(known, limit.signal));
    const last = page.at(-1);
    if (!last) return told;
    await within(site.tell(source, known, page, limit.signal));
    told += page.length;
    known = last.number;
  }
}

// Periodically approves access requests whose waiting time is over. Every process runs this: each request is approved once, by
// whichever process gets to it first.

interface AccessApprovalOptions extends TimerParts {
  readonly approvals: AccessApprovals;
  readonly periodMs: number | LiveSetting<number>;
}

/** The first run is immediate. A run returns the number of approved requests. */
export const approveWaited = (options: AccessApprovalOptions): Timer<number> =>
  new Timer({
    ...options,
    name: 'accessApproval',
    firstMs: 0,
    runOnce: (signal) => options.approvals.approveWaited(new Date(options.clock.now()), signal),
  });
