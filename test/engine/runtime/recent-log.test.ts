import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createLogger } from '../../../engine/runtime/log.ts';
import { type LogSubject, RecentLog } from '../../../engine/runtime/recent-log.ts';

const asIs = (line: string): string => line;

/** Small enough to go round. */
const RING = 1_000;

function setup(t: Test, bytes = RING) {
  const recent = new RecentLog(bytes);
  const log = createLogger({ level: 'info', to: { file: join(t.testdir(), 'log') }, recent });
  const found = (subject: LogSubject, limit = 100) =>
    recent.find(subject, limit, asIs).records.map(({ msg, n }) => (n === undefined ? msg : n));
  return { recent, log, found };
}

t.test('finds what was logged about a dataset or a request, the oldest first', async (t) => {
  const { recent, log, found } = setup(t, 100_000);
  t.strictSame(recent.find({ dataset: 'abc' }, 10, asIs), { records: [], isCut: false, since: undefined });
  log.child({ dataset: 'abc' }).info('first');
  log.info({ request: 'r-1', reason: 'it says "dataset":"abc"' }, 'of a request');
  log.info({ dataset: 'abcd' }, 'of another');
  log.info({ lane: 'import' }, 'of nothing');
  log.debug({ dataset: 'abc' }, 'below the level');
  log.warn({ dataset: 'abc', request: 'r-2' }, 'second');
  t.strictSame(found({ dataset: 'abc' }), ['first', 'second']);
  t.strictSame(found({ request: 'r-1' }), ['of a request']);
  t.strictSame(found({ request: 'abc' }), []);
  const { records, since } = recent.find({ request: 'r-2' }, 10, asIs);
  t.match(records, [{ level: 'warn', dataset: 'abc', request: 'r-2', msg: 'second', time: /^\d{4}-/ }]);
  t.ok(since && since <= String(records[0]?.time), 'since the first record');
});

t.test('the newest records displace the oldest, at any length of the lines', async (t) => {
  for (let extra = 0; extra < 40; extra++) {
    const recent = new RecentLog(RING);
    for (let n = 0; n < 50; n++)
      recent.add(`${JSON.stringify({ time: n, dataset: 'abc', n, more: 'é'.repeat((n * 7 + extra) % 60) })}\n`);
    const { records, since } = recent.find({ dataset: 'abc' }, 100, asIs);
    const kept = records.map(({ n }) => n);
    t.equal(since, String(kept[0]));
    t.ok(kept.length >= 3 && kept.length < 12, `${kept.length} are kept`);
    t.strictSame(
      kept,
      Array.from({ length: kept.length }, (_, i) => 50 - kept.length + i),
      'the last ones, whole',
    );
  }
});

t.test('a line that is longer than the ring, or 64 KiB, displaces nothing', async (t) => {
  const { log, found } = setup(t, 200_000);
  log.info({ dataset: 'abc' }, 'short');
  log.info({ dataset: 'abc', more: 'é'.repeat(40_000) }, 'long');
  t.strictSame(found({ dataset: 'abc' }), ['short']);
  const small = new RecentLog(50);
  small.add(`${JSON.stringify({ time: 1, dataset: 'abc', more: 'x'.repeat(50) })}\n`);
  t.strictSame(small.find({ dataset: 'abc' }, 10, asIs).records, []);
});

t.test('an answer ends at its limit and at 512 KiB, with the newest records, and says so', async (t) => {
  const { recent, log, found } = setup(t, 2_000_000);
  for (let n = 0; n < 30; n++) log.info({ dataset: 'abc', n, more: 'x'.repeat(50_000) }, 'm');
  t.strictSame(found({ dataset: 'abc' }, 3), [27, 28, 29]);
  t.equal(recent.find({ dataset: 'abc' }, 3, asIs).isCut, true);
  t.equal(found({ dataset: 'abc' }, 100).length, 10);
});

t.test('what is redacted is not shown, and still found', async (t) => {
  const { recent, log } = setup(t);
  log.info({ dataset: 'abc', reason: 'password hunter22' }, 'm');
  const { records } = recent.find({ dataset: 'abc' }, 10, (line) => line.replaceAll('hunter22', '[hidden]'));
  t.match(records, [{ reason: 'password [hidden]' }]);
});
