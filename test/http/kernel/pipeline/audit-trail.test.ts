import pino from 'pino';
import t from 'tap';
import type { AuditRow } from '../../../../engine/model/audit.ts';
import { Metrics } from '../../../../engine/runtime/metrics.ts';
import { AuditTrail, RefusalCounts } from '../../../../http/kernel/pipeline/audit-trail.ts';
import { auditRow } from '../../../conformance/audit-log.ts';
import { FakeAuditLog } from '../../../fakes/fake-audit-log.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

function setup(options: { readonly maxBytes?: number; readonly table?: undefined } = {}) {
  const clock = new VirtualClock();
  const table = new FakeAuditLog();
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = new Metrics();
  const trail = new AuditTrail({ table, clock, log, metrics, ...options });
  const levels = () => lines.map(({ level, msg }) => `${level} ${msg}`);
  const counted = async (): Promise<string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith('longshore_audit_rows_total{'));
  return { clock, table, lines, trail, levels, counted };
}

const isSettled = async (promise: Promise<void>, clock: VirtualClock): Promise<boolean> => {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await clock.settle();
  return settled;
};

t.test('a row that is waited for is in the table when the wait ends, and in the log', async (t) => {
  const { clock, table, lines, trail, counted } = setup();
  const gate = Promise.withResolvers<void>();
  table.gate = gate.promise;
  const kept = trail.keep(auditRow());
  t.notOk(await isSettled(kept, clock));
  gate.resolve();
  await kept;
  t.strictSame(table.entries, [{ ...auditRow(), number: 1 }]);
  const { at, actor, ...rest } = auditRow();
  t.match(lines, [{ level: 30, msg: 'audit', who: actor, at: new Date(at).toISOString(), ...rest }]);
  t.strictSame(await counted(), [
    'longshore_audit_rows_total{kept="table"} 1',
    'longshore_audit_rows_total{kept="log"} 0',
  ]);
});

t.test('rows that come while a batch is written go together with the next one', async (t) => {
  const { table, trail } = setup();
  const gate = Promise.withResolvers<void>();
  table.gate = gate.promise;
  const kept = Array.from({ length: 700 }, () => trail.keep(auditRow()));
  gate.resolve();
  await Promise.all(kept);
  t.strictSame(table.batches, [1, 500, 199]);
});

t.test('rows that nobody waits for are written within a second, together', async (t) => {
  const { clock, table, trail } = setup();
  trail.add(auditRow());
  await clock.advance(999);
  trail.add(auditRow());
  t.strictSame(table.batches, []);
  await clock.advance(1);
  t.strictSame(table.batches, [2]);
  trail.add(auditRow());
  await clock.advance(1_000);
  t.strictSame(table.batches, [2, 1]);
});

t.test('while the table is away rows go to the log, are counted, and hold nobody up', async (t) => {
  const { table, trail, lines, counted } = setup();
  table.away = true;
  await trail.keep(auditRow());
  t.match(lines, [{ level: 40, msg: 'audit', route: '/datasets/:id', notInTable: 'the audit trail is away' }]);
  table.away = false;
  await trail.keep(auditRow());
  t.equal(table.entries.length, 1);
  t.strictSame(await counted(), [
    'longshore_audit_rows_total{kept="table"} 1',
    'longshore_audit_rows_total{kept="log"} 1',
  ]);
});

t.test('a table that does not answer holds a request up for two seconds a batch, and no longer', async (t) => {
  const { clock, table, trail, lines } = setup();
  table.gate = new Promise(() => {});
  const first = trail.keep(auditRow());
  await clock.settle();
  const second = trail.keep(auditRow());
  await clock.advance(1_999);
  t.notOk(await isSettled(first, clock));
  await clock.advance(1);
  t.ok(await isSettled(first, clock));
  t.notOk(await isSettled(second, clock));
  await clock.advance(2_000);
  t.ok(await isSettled(second, clock));
  t.match(lines, [{ notInTable: 'the audit table did not answer in time' }, {}]);
});

t.test('rows that would take more memory than is allowed go to the log at once', async (t) => {
  const bytes = Buffer.byteLength(JSON.stringify(auditRow()));
  const { table, trail, levels, lines } = setup({ maxBytes: 10 * bytes });
  const gate = Promise.withResolvers<void>();
  table.gate = gate.promise;
  const kept = Array.from({ length: 15 }, () => trail.keep(auditRow()));
  await Promise.all(kept.slice(10));
  t.strictSame(levels(), Array(5).fill('40 audit'));
  t.match(lines[0], { notInTable: 'too many rows wait for the table' });
  gate.resolve();
  await Promise.all(kept);
  t.equal(table.entries.length, 10);
  await trail.keep(auditRow());
  t.equal(table.entries.length, 11, 'there is room again');
});

t.test('a flood of refusals is two rows a minute, and their number is right', async (t) => {
  const { clock, table, trail } = setup();
  const refusal = auditRow({ kind: 'refusal', outcome: 'refused', status: 401, actor: { kind: 'anonymous' } });
  for (let i = 0; i < 5_000; i++) trail.refused(refusal);
  await clock.advance(61_000);
  t.strictSame(
    table.entries.map(({ count }) => count),
    [1, 4_999],
  );
});

t.test('the end writes what waits, counted refusals too', async (t) => {
  const { table, trail } = setup();
  trail.add(auditRow());
  const refusal = auditRow({ kind: 'refusal', outcome: 'refused', status: 401 });
  for (let i = 0; i < 3; i++) trail.refused(refusal);
  await trail[Symbol.asyncDispose]();
  t.strictSame(
    table.entries.map(({ count }) => count),
    [1, 1, 2],
  );
});

t.test('without a table the log is the trail', async (t) => {
  const { trail, levels, counted } = setup({ table: undefined });
  await trail.keep(auditRow());
  trail.add(auditRow());
  trail.refused(auditRow({ outcome: 'refused', status: 401 }));
  t.strictSame(levels(), Array(3).fill('30 audit'));
  t.strictSame(await counted(), []);
});

function counting() {
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
  const { clock, counts, refusal, told, counted } = counting();
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
  const { clock, counts, refusal, counted } = counting();
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
    const { counts, refusal, counted } = counting();
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
  const { clock, counts, refusal, told } = counting();
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
  const { clock, counts, refusal, counted } = counting();
  for (let i = 0; i < 3; i++) counts.add(refusal());
  counts.flush();
  t.strictSame(counted(), [
    ['192.0.2.7', 1],
    ['192.0.2.7', 2],
  ]);
  await clock.advance(60_000);
  t.strictSame(counted(), []);
});
