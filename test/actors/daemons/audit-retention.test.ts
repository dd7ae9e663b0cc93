import t from 'tap';
import { auditRetention } from '../../../actors/daemons/audit-retention.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { auditRow } from '../../conformance/audit-log.ts';
import { FakeAuditLog } from '../../fakes/fake-audit-log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const DAY = 86_400_000;
const MONDAY = Date.UTC(2026, 10, 23);

t.test('weeks go once their last moment is older than the retention, and the rest stays', async (t) => {
  const clock = new VirtualClock(MONDAY);
  const audit = new FakeAuditLog();
  const signal = new AbortController().signal;
  const ages = [5, 10, 20, 30, 37, 38, 100];
  await audit.append(
    ages.map((days) => auditRow({ at: MONDAY - days * DAY, route: `${days}` })),
    signal,
  );
  const timer = auditRetention({ audit, retentionMs: 30 * DAY, clock, log: silentLogger(), metrics: new Metrics() });
  await timer.start(signal);
  t.teardown(() => timer.kill());
  const left = () => audit.entries.map(({ route }) => Number(route));
  await clock.advance(60_000);
  // 30 days ago is a Saturday: its week is not over.
  t.strictSame(left(), [5, 10, 20, 30]);
  await clock.advance(2 * DAY + 7_200_000);
  t.strictSame(left(), [5, 10, 20]);
});
