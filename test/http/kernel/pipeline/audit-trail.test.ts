import pino from 'pino';
import t from 'tap';
import { Metrics } from '../../../../engine/runtime/metrics.ts';
import { AuditTrail } from '../../../../http/kernel/pipeline/audit-trail.ts';
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
