// What every DatasetEvents does with events that are copied into it. Which changes of datasets tell an event is up to the adapter.

import t, { type Test } from 'tap';
import type { DatasetEvent } from '../../engine/model/dataset-event.ts';
import type { DatasetId, TargetId, UserId } from '../../engine/model/ids.ts';
import type { CopiedEvent, DatasetEvents, EventScope } from '../../engine/ports/dataset-events.ts';

export interface EventsUnderTest {
  readonly events: DatasetEvents;
  /** Makes a dataset of that owner that the user has accepted. */
  give(dataset: DatasetId, owner: UserId, user: UserId): Promise<void>;
}

/** Without events. */
export type OpenEvents = (t: Test) => Promise<EventsUnderTest>;

const signal = new AbortController().signal;
const NOON = Date.UTC(2026, 10, 25, 12, 0, 0, 123);
const id = (text: string): DatasetId => text as DatasetId;
const user = (number: number): UserId => String(number) as UserId;
const ALL = { of: 'all' } as const;

export function datasetEventsConformance(name: string, open: OpenEvents): void {
  let sources = 0;
  const copied = (more: Partial<CopiedEvent> = {}): CopiedEvent => ({
    kind: 'access-requested',
    at: NOON,
    dataset: id('set1'),
    owner: user(7),
    detail: {},
    source: `source ${sources++}`,
    ...more,
  });
  const all = async (
    events: DatasetEvents,
    after: number,
    scope: EventScope = ALL,
    limit = 100,
  ): Promise<DatasetEvent[]> => {
    const found: DatasetEvent[] = [];
    for (let from = after, more = true; more; ) {
      const page = await events.page(scope, from, limit, signal);
      t.ok(page.events.length <= limit);
      found.push(...page.events);
      more = page.more;
      from = page.upTo;
    }
    return found;
  };
  const sets = (events: readonly DatasetEvent[]): readonly string[] => events.map(({ dataset }) => dataset);

  t.test(`${name}: an event comes back as it was, with an id above that of its reader`, async (t) => {
    const { events } = await open(t);
    const before = await events.newest(signal);
    const whole = copied({
      addressee: user(9),
      detail: { step: 'install', status: 'failed-installation', target: 'Alpha' as TargetId, messages: ['"ü" \ud800'] },
    });
    await events.copy([copied(), whole], signal);
    const { events: found, upTo, more, missed } = await events.page(ALL, before, 10, signal);
    t.match({ upTo, more, missed }, { upTo: found.at(-1)?.id, more: false, missed: false });
    t.equal(await events.newest(signal), upTo);
    const { source: _source, ...written } = whole;
    const detail = { ...whole.detail, messages: ['"ü" \ufffd'] };
    const [first, second] = found;
    t.ok(first && second && before < first.id && first.id < second.id);
    t.strictSame(second && { ...second, detail: { ...second.detail, messages: detail.messages } }, {
      ...written,
      id: second?.id,
      recipients: [],
      detail,
    });
    t.notOk(first && 'addressee' in first);
  });

  t.test(`${name}: the same event is stored once`, async (t) => {
    const { events } = await open(t);
    const before = await events.newest(signal);
    const event = copied();
    await events.copy([event, copied({ dataset: id('set2') })], signal);
    await events.copy([event, copied({ dataset: id('set3') })], signal);
    t.same(sets(await all(events, before)), ['set1', 'set2', 'set3']);
  });

  t.test(`${name}: pages of any size hold each event once, in order`, async (t) => {
    const { events } = await open(t);
    const before = await events.newest(signal);
    for (let n = 0; n < 7; n++) await events.copy([copied({ dataset: id(`set${n}`) })], signal);
    const whole = await all(events, before);
    t.same(sets(whole), ['set0', 'set1', 'set2', 'set3', 'set4', 'set5', 'set6']);
    for (const limit of [1, 2, 3, 7, 8]) t.strictSame(await all(events, before, ALL, limit), whole, `${limit}`);
    t.strictSame(await all(events, whole[2]?.id ?? 0), whole.slice(3), 'from where the reader was');
    t.same(await all(events, await events.newest(signal)), []);
  });

  t.test(`${name}: a user gets what is addressed to the user, owned, or given`, async (t) => {
    const { events, give } = await open(t);
    const before = await events.newest(signal);
    await give(id('given'), user(7), user(9));
    const start = await events.newest(signal);
    const batch = ['given', 'other'].flatMap((dataset) => [
      copied({ dataset: id(dataset) }),
      copied({ dataset: id(dataset), addressee: user(9) }),
      copied({ dataset: id(dataset), addressee: user(8) }),
    ]);
    await events.copy(batch, signal);
    const seen = async (scope: EventScope): Promise<readonly string[]> =>
      (await all(events, start, scope)).map(({ dataset, addressee }) => `${dataset} ${addressee ?? '-'}`);
    t.same(await seen({ of: 'user', user: user(7) }), ['given -', 'other -']);
    t.same(await seen({ of: 'user', user: user(9) }), ['given -', 'given 9', 'other 9']);
    t.same(await seen({ of: 'user', user: user(8) }), ['given 8', 'other 8']);
    t.same(await seen({ of: 'user', user: user(6) }), []);
    t.same(await seen({ of: 'dataset', dataset: id('given') }), ['given -']);
    t.same(await seen({ of: 'dataset', dataset: id('given'), user: user(8) }), ['given -', 'given 8']);
    t.same(
      [
        ...new Set(
          (await all(events, before)).flatMap(({ dataset, recipients }) => recipients.map((r) => dataset + r)),
        ),
      ],
      ['given9'],
    );
  });

  t.test(`${name}: a page that filters everything out still moves on`, async (t) => {
    const { events } = await open(t);
    const before = await events.newest(signal);
    await events.copy([copied(), copied()], signal);
    const page = await events.page({ of: 'user', user: user(6) }, before, 1, signal);
    t.strictSame(page, { events: [], upTo: await events.newest(signal), more: false, missed: false });
  });

  t.test(`${name}: what is removed by age is missed by a reader that had not got it, and by nobody else`, async (t) => {
    const { events } = await open(t);
    const before = await events.newest(signal);
    await events.copy([copied(), copied({ at: NOON + 1 }), copied({ at: NOON + 2 })], signal);
    const [first, second] = await all(events, before);
    if (!first || !second) throw new Error('no events');
    t.equal(await events.dropBefore(NOON + 2, signal), 2);
    t.equal(await events.dropBefore(NOON + 2, signal), 0);
    t.equal(await events.oldest(signal), second.id);
    for (const after of [0, before, first.id]) {
      const { missed, events: left } = await events.page(ALL, after, 10, signal);
      t.same([missed, left.length], [true, 1], `after ${after}`);
    }
    t.match(await events.page(ALL, second.id, 10, signal), { missed: false, events: { length: 1 } });
  });

  t.test(`${name}: a reader that knows an id from another database has missed something`, async (t) => {
    const { events } = await open(t);
    const newest = await events.newest(signal);
    t.match(await events.page(ALL, newest + 1, 10, signal), { missed: true });
    t.match(await events.page(ALL, newest, 10, signal), { missed: false, events: [] });
  });

  t.test(`${name}: nothing is asked under a signal that is over`, async (t) => {
    const { events } = await open(t);
    const over = AbortSignal.abort(new Error('over'));
    await t.rejects(events.page(ALL, 0, 1, over), { message: 'over' });
    await t.rejects(events.newest(over), { message: 'over' });
    await t.rejects(events.copy([copied()], over), { message: 'over' });
    await t.rejects(events.dropBefore(NOON, over), { message: 'over' });
  });
}
