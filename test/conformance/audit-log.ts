// What every AuditLog does.

import type { Test } from 'tap';
import type { AuditEntry, AuditRow } from '../../engine/model/audit.ts';
import type { AuditFilter, AuditLog, AuditPageOptions } from '../../engine/ports/audit-log.ts';

/** A Wednesday. */
const NOON = Date.UTC(2026, 10, 25, 12, 0, 0, 123);
const DAY = 86_400_000;

export const auditRow = (more: Partial<AuditRow> = {}): AuditRow => ({
  at: NOON,
  kind: 'change',
  actor: { kind: 'user', id: '42' },
  address: '192.0.2.7',
  service: 'installer',
  method: 'PATCH',
  route: '/datasets/:id',
  dataset: 'set1',
  records: { id: 'set1' },
  outcome: 'done',
  status: 204,
  count: 1,
  request: '6f1c2a58-2a35-4c1e-9f0e-5a6b7c8d0001',
  ...more,
});

/** @param setup an empty one */
export function auditLogConformance(t: Test, setup: (t: Test) => Promise<AuditLog>): void {
  const signal = new AbortController().signal;
  const all = async (
    log: AuditLog,
    filter: AuditFilter = {},
    options: Partial<AuditPageOptions> = {},
  ): Promise<AuditEntry[]> => {
    const entries: AuditEntry[] = [];
    for (let next: AuditPageOptions['after'] | 'begin' = 'begin'; next !== undefined; ) {
      const after: Pick<AuditPageOptions, 'after'> = next === 'begin' ? {} : { after: next };
      const page = await log.page(filter, { limit: 2, order: 'newest-first', ...options, ...after }, signal);
      entries.push(...page.entries);
      next = page.next;
    }
    return entries;
  };
  const routes = (entries: readonly AuditEntry[]): string[] => entries.map(({ route }) => route);

  t.test('a row is read as it was added', async (t) => {
    const log = await setup(t);
    const rows = [
      auditRow(),
      auditRow({ at: NOON - 1, records: { id: 'ü "\\u0000" \u0001' } }),
      {
        ...{ at: NOON - 2, kind: 'refusal', actor: { kind: 'anonymous' }, address: '2001:db8:0:1::/64' },
        ...{ service: 'report', method: 'GET', route: '/jobs', records: {}, outcome: 'cut', count: 7 },
        request: '6f1c2a58-2a35-4c1e-9f0e-5a6b7c8d0002',
      } satisfies AuditRow,
    ] as const;
    await log.append(rows, signal);
    t.strictSame(
      (await all(log)).map(({ number: _number, ...row }) => row),
      rows,
    );
    await log.append([], signal);
    t.equal((await all(log)).length, 3);
  });

  t.test('pages of either order hold each row once, those of one moment by their numbers', async (t) => {
    const log = await setup(t);
    for (let batch = 0; batch < 3; batch++)
      await log.append(
        Array.from({ length: 5 }, (_, i) => auditRow({ at: NOON + Math.floor(i / 2), route: `/${batch}/${i}` })),
        signal,
      );
    for (const limit of [1, 2, 3, 5, 15, 100]) {
      const newest = await all(log, {}, { limit });
      t.equal(newest.length, 15, `pages of ${limit}`);
      t.ok(
        newest.every((entry, i) => {
          const before = newest[i - 1];
          return !before || before.at > entry.at || (before.at === entry.at && before.number > entry.number);
        }),
      );
      t.strictSame(await all(log, {}, { limit, order: 'oldest-first' }), newest.toReversed());
    }
  });

  t.test('a filter leaves exactly what it names, over pages and weeks', async (t) => {
    const log = await setup(t);
    await log.append(
      [
        auditRow({ route: '/a', at: NOON }),
        auditRow({ route: '/b', at: NOON - DAY, kind: 'download', actor: { kind: 'machine', id: 'Admin-Token' } }),
        auditRow({ route: '/c', at: NOON - 8 * DAY, dataset: 'other' }),
        auditRow({ route: '/d', at: NOON - 15 * DAY, outcome: 'refused', status: 403 }),
        auditRow({ route: '/d', at: NOON - 40 * DAY }),
      ],
      signal,
    );
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const found = async (filter: AuditFilter): Promise<string[]> => {
        const entries = await all(log, filter, { order, limit: 1 });
        return routes(order === 'newest-first' ? entries : entries.toReversed());
      };
      t.same(await found({}), ['/a', '/b', '/c', '/d', '/d']);
      t.same(await found({ from: NOON }), ['/a'], 'from then on');
      t.same(await found({ to: NOON }), ['/b', '/c', '/d', '/d'], 'before then');
      t.same(await found({ from: NOON - 8 * DAY, to: NOON }), ['/b', '/c']);
      t.same(await found({ kind: 'download' }), ['/b']);
      t.same(await found({ actor: '42' }), ['/a', '/c', '/d', '/d']);
      t.same(await found({ actor: 'Admin-Token' }), ['/b']);
      t.same(await found({ dataset: 'other' }), ['/c']);
      t.same(await found({ route: '/d' }), ['/d', '/d']);
      t.same(await found({ outcome: 'refused' }), ['/d']);
      t.same(await found({ outcome: 'refused', route: '/a' }), []);
    }
  });

  t.test('a full last page has no next page', async (t) => {
    const log = await setup(t);
    await log.append(
      [0, 1, 2, 3].map((i) => auditRow({ at: NOON + i })),
      signal,
    );
    for (const order of ['oldest-first', 'newest-first'] as const) {
      const first = await log.page({}, { limit: 2, order }, signal);
      t.ok(first.next, order);
      const last = await log.page({}, { limit: 2, order, ...(first.next ? { after: first.next } : {}) }, signal);
      t.equal(last.entries.length, 2);
      t.equal(last.next, undefined);
    }
  });

  t.test('a page ends when it has enough bytes, and the next one goes on', async (t) => {
    const log = await setup(t);
    const large = (i: number): AuditRow => auditRow({ at: NOON + i, route: `/${i}`, records: { id: noise(100_000) } });
    await log.append([0, 1, 2, 3, 4].map(large), signal);
    const first = await log.page({}, { limit: 1000, order: 'oldest-first' }, signal);
    t.ok(first.entries.length < 5 && first.next);
    t.same(routes(await all(log, {}, { limit: 1000, order: 'oldest-first' })), ['/0', '/1', '/2', '/3', '/4']);
  });

  t.test('weeks are dropped once they are over as a whole', async (t) => {
    const log = await setup(t);
    const monday = Date.UTC(2026, 10, 23);
    const moments = [monday - 7 * DAY, monday - 1, monday, monday + 7 * DAY - 1];
    await log.append(
      moments.map((at) => auditRow({ at, route: String(at) })),
      signal,
    );
    t.equal(await log.dropBefore(monday - 1, signal), 0);
    t.equal((await all(log)).length, 4);
    t.equal(await log.dropBefore(monday, signal), 1);
    t.same(routes(await all(log, {}, { order: 'oldest-first' })), moments.slice(2).map(String));
    await log.append([auditRow({ at: monday - 1 })], signal);
    t.equal((await all(log)).length, 3, 'a week that was dropped can be added to');
  });

  t.test('of a batch that cannot be added nothing is', async (t) => {
    const log = await setup(t);
    await t.rejects(log.append([auditRow()], AbortSignal.abort(new Error('over'))));
    t.same(await all(log), []);
  });
}

/** Text that compresses badly: a page's bytes are counted as they are kept. */
function noise(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 0x7fff_ffff;
    return String.fromCharCode(97 + (state % 26));
  }).join('');
}
