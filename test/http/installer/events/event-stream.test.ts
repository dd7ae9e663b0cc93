import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import t from 'tap';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { EventFeed } from '../../../../http/installer/events/event-feed.ts';
import { EventStream, type Streamed } from '../../../../http/installer/events/event-stream.ts';
import { FakeDatasetEvents } from '../../../fakes/fake-dataset-events.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { framesOf, take } from '../../../support/event-frames.ts';

const OWNER = '7' as UserId;
const HEARTBEAT_MS = 15_000;
const POLL_MS = 500;
const never = new AbortController().signal;

class FakeResponse extends PassThrough {
  constructor() {
    super({ highWaterMark: 16 * 1024 });
  }
  readonly headers = new Map<string, string>();
  setHeader(name: string, value: string): void {
    this.headers.set(name, value);
  }
}

function setup() {
  const clock = new VirtualClock(1_000_000);
  const events = new FakeDatasetEvents();
  const feed = new EventFeed({ datasetEvents: events, clock, log: silentLogger() });
  const sent: number[] = [];
  const tell = (dataset = 'set', more: { kind?: 'installed' | 'deleted' } = {}) =>
    events.tell({ kind: 'installed', dataset: dataset as DatasetId, owner: OWNER, ...more });
  /** A stream of everything, unless it says otherwise. */
  const open = (more: Partial<Streamed> = {}) => {
    const response = new FakeResponse();
    const [client, server] = [new AbortController(), new AbortController()];
    const stream = new EventStream(
      { feed, datasetEvents: events, clock, random: () => 0.5, onSent: (count) => sent.push(count) },
      {
        scope: { of: 'all' },
        includes: () => true,
        after: 1_000,
        untilMs: Number.POSITIVE_INFINITY,
        response: response as unknown as ServerResponse,
        signal: client.signal,
        draining: server.signal,
        ...more,
      },
    );
    const ended = stream.run();
    ended.catch(() => undefined);
    const frames = framesOf(response);
    /** Ids of the next events. */
    const ids = async (count: number) => (await take(frames, count)).map(({ id }) => Number(id));
    return { response, client, server, ended, frames, ids, begun: () => take(frames, 1) };
  };
  return { clock, events, feed, sent, tell, open };
}

t.test('sends what there was, then what comes, each once and in order', async (t) => {
  const { clock, tell, open, sent } = setup();
  const before = [tell('a'), tell('b')];
  const { frames, ids, response } = open();
  t.same(await take(frames, 1), [{ retry: '2000' }]);
  t.same(await ids(2), before);
  const after = [tell('c'), tell('d')];
  await clock.advance(POLL_MS);
  t.same(await ids(2), after);
  t.equal(response.headers.get('content-type'), 'text/event-stream');
  t.same(sent, [2, 2]);
});

t.test('an event is one line also for clients that end lines at separators of Unicode', async (t) => {
  const { events, open } = setup();
  const messages = ['row 1\u2028row 2\u2029row 3\u0085'];
  events.tell({ kind: 'failed', dataset: 'set' as DatasetId, owner: OWNER, detail: { messages } });
  const { response } = open();
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk;
    if (text.includes('}\n')) break;
  }
  t.notMatch(text, /[\u0085\u2028\u2029]/);
  const [data] = /(?<=^data: ).*$/m.exec(text) ?? [];
  t.match(JSON.parse(data ?? ''), { messages });
});

t.test('a stream that begins while events come misses none and gets none twice', async (t) => {
  const { clock, events, tell, open } = setup();
  const first = open();
  await first.begun();
  const expected = [tell()];
  const gate = Promise.withResolvers<void>();
  events.gate = gate.promise;
  const second = open();
  expected.push(tell());
  gate.resolve();
  await second.begun();
  expected.push(tell());
  for (let n = 0; n < 3; n++) await clock.advance(POLL_MS);
  t.same(await first.ids(3), expected);
  t.same(await second.ids(3), expected);
});

t.test('100 streams cost one look at the database for all new events', async (t) => {
  const { clock, events, tell, open } = setup();
  const streams = Array.from({ length: 100 }, () => open());
  for (const { begun } of streams) await begun();
  events.pages = 0;
  const ids = [tell(), tell(), tell()];
  await clock.advance(POLL_MS);
  for (const stream of streams) t.same(await stream.ids(3), ids);
  t.ok(events.pages <= 2, `${events.pages} pages`);
  for (const { client } of streams) client.abort();
  await Promise.all(streams.map(({ ended }) => ended));
  events.pages = 0;
  await clock.advance(10 * POLL_MS);
  t.equal(events.pages, 0, 'and none when nobody follows');
});

t.test('what is filtered out of all events is not sent, and a quiet client learns how far it is', async (t) => {
  const { clock, tell, open } = setup();
  const { begun, frames, response } = open({ includes: ({ dataset }) => dataset === 'mine' });
  await begun();
  tell('other');
  const last = tell('other');
  await clock.advance(POLL_MS);
  await clock.advance(HEARTBEAT_MS);
  t.same(await take(frames, 1), [{ id: String(last) }]);
  await clock.advance(HEARTBEAT_MS);
  t.same(await take(frames, 1), [{}], 'a comment');
  t.equal(response.readableLength, 0);
});

t.test('a client that was away for longer than events are kept is told of the gap', async (t) => {
  const { events, tell, open } = setup();
  const [, kept] = [tell('a'), tell('b')];
  events.tell({ kind: 'accepted', dataset: 'c' as DatasetId, owner: OWNER, at: 1 });
  await events.dropBefore(1, never);
  const { begun, frames } = open({ after: 1_000 });
  await begun();
  t.match(await take(frames, 2), [
    { id: String(kept), event: 'gap', data: { after: 1_000 } },
    { event: 'accepted', id: String(kept + 1) },
  ]);
});

t.test('it ends when the client leaves', async (t) => {
  const { open } = setup();
  const { begun, client, ended } = open();
  await begun();
  client.abort();
  t.equal(await ended, 'left');
});

t.test('it ends at once when the server stops, so that the client connects elsewhere', async (t) => {
  const { open } = setup();
  const { begun, frames, server, ended } = open();
  await begun();
  server.abort();
  t.equal(await ended, 'stopping');
  t.same(await frames.next(), { value: undefined, done: true });
});

t.test('it ends when the token expires, and says so', async (t) => {
  const { clock, tell, open } = setup();
  const { begun, frames, ended } = open({ untilMs: 1_000_000 + 40_000 });
  await begun();
  await clock.advance(39_999);
  await take(frames, 2);
  tell();
  await clock.advance(1);
  t.equal(await ended, 'token-expired');
  t.same(await take(frames, 1), [{ event: 'end', data: { reason: 'token-expired' } }]);
});

t.test(
  'it ends when the caller no longer sees the dataset, with the reason but without what happens to it',
  async (t) => {
    const { clock, tell, open } = setup();
    let visible = true;
    const { begun, frames, ids, ended } = open({ isVisible: async () => visible });
    await begun();
    const seen = tell();
    await clock.advance(6_000);
    t.same(await ids(1), [seen]);
    visible = false;
    await clock.advance(6_000);
    tell('set', { kind: 'installed' });
    const deleted = tell('set', { kind: 'deleted' });
    await clock.advance(POLL_MS);
    t.match(await take(frames, 2), [
      { id: String(deleted), event: 'deleted' },
      { event: 'end', data: { reason: 'not-visible' } },
    ]);
    t.equal(await ended, 'not-visible');
  },
);

t.test('a client that does not read costs no memory: its events stay in the database', async (t) => {
  const { clock, events, tell, open } = setup();
  const { begun, response, frames } = open();
  await begun();
  const all: number[] = [];
  for (let n = 0; n < 3_000; n++) all.push(tell());
  for (let n = 0; n < 10; n++) await clock.advance(POLL_MS);
  t.ok(response.readableLength + response.writableLength < 64 * 1024);
  t.ok(events.pages < 20, 'nor does it ask again and again');
  const got: number[] = [];
  while (got.length < all.length) {
    got.push(...(await take(frames, 1)).map(({ id }) => Number(id)));
    if (got.length % 200 === 0) await clock.advance(1);
  }
  t.same(got, all);
});

t.test('while the database is away the stream waits, and gets what came meanwhile', async (t) => {
  const { clock, events, tell, open } = setup();
  const { begun, ids } = open();
  await begun();
  const away = Promise.reject(transient('away'));
  away.catch(() => undefined);
  events.gate = away;
  const all = [tell(), tell()];
  await clock.advance(60_000);
  events.gate = Promise.resolve();
  await clock.advance(20_000);
  const frames = await ids(6);
  t.same(
    frames.filter((id) => id > 0),
    all,
  );
});

t.test('a stream that cannot begin fails before it has sent anything', async (t) => {
  const { events, open } = setup();
  const away = Promise.reject(transient('away'));
  away.catch(() => undefined);
  events.gate = away;
  const { ended, response } = open();
  await t.rejects(ended, { kind: 'transient', message: 'away' });
  t.equal(response.headers.size, 0);
});

t.test('it ends when it is behind and the database does not answer: the client resumes', async (t) => {
  const { clock, events, tell, open } = setup();
  const { begun, ended, frames } = open();
  await begun();
  for (let n = 0; n < 3_000; n++) tell();
  for (let n = 0; n < 10; n++) await clock.advance(POLL_MS);
  const away = Promise.reject(transient('away'));
  away.catch(() => undefined);
  events.gate = away;
  for await (const _frame of frames);
  t.equal(await ended, 'unavailable');
});

t.test('a stream that has ended is not kept by the server, which lives on', async (t) => {
  const { open, clock } = setup();
  const { signal: draining } = new AbortController();
  const kept = (): number => getEventListeners(draining, 'abort').length;
  for (let i = 0; i < 3; i++) {
    const { client, ended, begun } = open({ draining });
    await begun();
    t.equal(kept(), 1);
    client.abort(new Error('left'));
    await clock.advance(POLL_MS);
    t.equal(await ended, 'left');
  }
  const gone = open({ draining, signal: AbortSignal.abort(new Error('left')) });
  await t.rejects(gone.ended, { message: 'left' });
  t.equal(kept(), 0);
});
