import t, { type Test } from 'tap';
import { Progress, type ProgressState, progressText } from '../../../../bin/cli/terminal/progress.ts';
import { LiveLines } from '../../../../bin/cli/terminal/screen.ts';
import { FakeTerminal } from '../../../fakes/fake-terminal.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

function setup(_t: Test, columns = 100) {
  const clock = new VirtualClock();
  const terminal = new FakeTerminal(columns);
  const progress = new Progress({ label: 'genes.txt', unit: 'bytes', total: 10_000_000 }, terminal, clock);
  return { clock, terminal, progress };
}

t.test('shows share, rate and time left, and in the end how long it took', async (t) => {
  const { clock, terminal, progress } = setup(t, 120);
  const bar = (filled: number) => `[${'#'.repeat(filled)}${'.'.repeat(40 - filled)}]`;
  t.strictSame(terminal.shown(), [`genes.txt  ${bar(0)}    0%  0 B of 10.0 MB`]);
  await clock.advance(750);
  progress.at(1_500_000);
  t.strictSame(terminal.shown(), [`genes.txt  ${bar(6)}   15%  1.50 MB of 10.0 MB  2.00 MB/s  4 s left`]);
  await clock.advance(1_250);
  progress.at(10_000_000);
  progress.finish();
  t.strictSame(terminal.shown(), [`genes.txt  ${bar(40)}  100%  10.0 MB  5.00 MB/s  in 2 s`, '']);
  const { length } = terminal.written;
  progress.at(1);
  progress[Symbol.dispose]();
  await clock.advance(10_000);
  t.equal(terminal.written.length, length, 'over is over');
  t.equal(terminal.listeners, 0);
});

t.test('is drawn at most 10 times a second, and by itself when nothing moves', async (t) => {
  const { clock, terminal, progress } = setup(t);
  for (let at = 0; at < 2_000; at++) {
    progress.at(at * 100);
    await clock.advance(1);
  }
  t.ok(terminal.written.length <= 21, `${terminal.written.length} times in 2 s`);
  t.ok(terminal.written.length >= 19, `${terminal.written.length} times in 2 s`);
  await clock.advance(6_000);
  t.match(terminal.shown()[0], '0 B/s', 'a transfer that stalls shows it');
  progress[Symbol.dispose]();
});

t.test('is drawn anew when the terminal is resized, over what was wrapped', async (t) => {
  const { clock, terminal, progress } = setup(t);
  await clock.advance(750);
  progress.at(5_000_000);
  terminal.resize(40);
  t.equal(terminal.written.at(-1), '\r\u001b[2A\u001b[Jgenes.txt  [##########..........]   50%');
  progress[Symbol.dispose]();
});

t.test('nothing is written where there is no terminal', async (t) => {
  const clock = new VirtualClock();
  using progress = new Progress({ label: 'x', unit: 'bytes' }, undefined, clock);
  progress.at(1);
  progress.finish();
  t.notOk(await clock.advanceToNext(), 'and nothing is waited for');
});

t.test('a line fits: what tells least is left out first', async (t) => {
  const state: ProgressState = { label: 'g\u001b[2Jenes', unit: 'bytes', total: 1_000, done: 333, rate: 10 };
  for (const [width, line] of [
    [80, 'genes  [###########......................]   33%  333 B of 1.00 kB  10 B/s  1 m 7 s left'],
    [60, 'genes  [######.............]   33%  333 B of 1.00 kB  10 B/s'],
    [45, 'genes  [####.........]   33%  333 B of 1.00 kB'],
    [30, 'genes  [#####...........]   33%'],
    [20, 'genes   33%'],
  ] as const) {
    const text = progressText(state, width);
    t.ok(text.length <= width, `${width}: ${text}`);
    t.equal(text.replace(/\[[#.]*\]/, ''), line.replace(/\[[#.]*\]/, ''), `${width}`);
  }
});

t.test('without a total there is a count, and an empty transfer is whole', async (t) => {
  const state = { label: 'reconciling', unit: 'datasets', done: 12, rate: 4 };
  t.equal(progressText(state, 80), 'reconciling  12 datasets  4.00/s');
  t.equal(progressText({ ...state, tookSeconds: 3 }, 80), 'reconciling  12 datasets  4.00/s  in 3 s');
  t.match(progressText({ ...state, done: 0, total: 0, rate: undefined }, 80), /\[#{40}\] {2}100% {2}0 of 0 datasets$/);
});

t.test('lines are drawn in place, and what is too long or too much is cut', async (t) => {
  const terminal = new FakeTerminal(12, 4);
  const lines = new LiveLines(terminal);
  lines.draw(['upload', 'import that is long', 'bar']);
  lines.draw(['upload', 'import']);
  t.strictSame(terminal.shown(), ['upload', 'import']);
  lines.draw(['1', '2', '3', '4', '5']);
  t.strictSame(terminal.shown(), ['3', '4', '5'], 'the last rows of a terminal of 4');
  lines.end();
  lines.end();
  lines.draw(['next']);
  t.strictSame(terminal.shown(), ['3', '4', '5', 'next']);
});
