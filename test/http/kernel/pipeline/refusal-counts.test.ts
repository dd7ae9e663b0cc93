import t from 'tap';
import type { AuditRow } from '../../../../engine/model/audit.ts';
import { RefusalCounts } from '../../../../http/kernel/pipeline/refusal-counts.ts';
import { auditRow } from '../../../conformance/audit-log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

function setup() {
  const clock = new VirtualClock();
  const told: AuditRow[] = [];
  const counts = new RefusalCounts(clock, (row) => void told.push(row));
  const refusal = (more: Partial<AuditRow> = {}): AuditRow =>
    auditRow({
      kind: 'refusal',
      outcome: 'refused',
      status: 401,
      actor: { kind: 'anonymous' },
      at: clock.now(),
      ...more,
    });
  const counted = () => told.splice(0).map(({ address, count }) => [address, count]);
  return { clock, counts, told, refusal, counted };
}

t.test('the first refusal is told at once, the others of its minute as one with their number', async (t) => {
  const { clock, counts, refusal, told, counted } = setup();
  for (let i = 0; i < 10_000; i++) counts.add(refusal({ records: { id: `guess ${i}` }, dataset: `guess ${i}` }));
  t.strictSame(counted(), [['192.0.2.7', 1]]);
  await clock.advance(59_999);
  counts.add(refusal());
  t.strictSame(counted(), []);
  await clock.advance(1);
  t.strictSame(told[0]?.at, clock.now() - 1, 'it says when the last one was');
  t.strictSame(counted(), [['192.0.2.7', 10_000]]);
  t.equal(counts.size, 0);
  counts.add(refusal());
  t.strictSame(counted(), [['192.0.2.7', 1]], 'a new minute');
  await clock.advance(60_000);
  t.strictSame(counted(), [], 'a single one is told once');
});

t.test('those of one IPv6 network are counted together, under its name', async (t) => {
  const { clock, counts, refusal, counted } = setup();
  for (let i = 1; i <= 3; i++) counts.add(refusal({ address: `2001:db8:0:1::${i}` }));
  await clock.advance(60_000);
  t.strictSame(counted(), [
    ['2001:db8:0:1::1', 1],
    ['2001:db8:0:1::/64', 2],
  ]);
});

t.test(
  'other addresses, callers, routes and statuses count for themselves, and records of those who are known',
  async (t) => {
    const { counts, refusal, counted } = setup();
    const user = { actor: { kind: 'user', id: '42' } } as const;
    for (const more of [
      {},
      { address: '192.0.2.8' },
      user,
      { ...user, dataset: 'other' },
      { ...user, records: { id: 'other' } },
      { route: '/other' },
      { method: 'PUT' },
      { service: 'report' },
      { status: 403 },
    ])
      counts.add(refusal(more));
    t.equal(counted().length, 9);
  },
);

t.test('of more kinds than are counted at a time the oldest is told early, and none is lost', async (t) => {
  const { clock, counts, refusal, told } = setup();
  const address = (i: number): string => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
  for (let i = 0; i < 12_000; i++) {
    counts.add(refusal({ address: address(i) }));
    counts.add(refusal({ address: address(i) }));
  }
  t.equal(counts.size, 10_000);
  await clock.advance(60_000);
  t.equal(
    told.reduce((sum, { count }) => sum + count, 0),
    24_000,
  );
  t.equal(counts.size, 0);
});

t.test('a flush tells what was counted so far', async (t) => {
  const { clock, counts, refusal, counted } = setup();
  for (let i = 0; i < 3; i++) counts.add(refusal());
  counts.flush();
  t.strictSame(counted(), [
    ['192.0.2.7', 1],
    ['192.0.2.7', 2],
  ]);
  await clock.advance(60_000);
  t.strictSame(counted(), []);
});
