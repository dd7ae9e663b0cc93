import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import pino from 'pino';
import t, { type Test } from 'tap';
import { createLogger } from '../../../engine/runtime/log.ts';
import { LogThreshold } from '../../../engine/runtime/log-threshold.ts';

function setup(t: Test, level: LogThreshold) {
  const file = join(t.testdir(), 'log');
  const log = createLogger({ level, to: { file } });
  const written = (): unknown[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const { level, msg, actor } = JSON.parse(line) as Record<string, unknown>;
        return [level, msg, ...(actor === undefined ? [] : [actor])];
      });
  return { log, written };
}

t.test('the time of a line is UTC and says so', async (t) => {
  const file = join(t.testdir(), 'log');
  const before = Date.now();
  createLogger({ level: new LogThreshold('info'), to: { file } }).error('now');
  const { time } = JSON.parse(readFileSync(file, 'utf8')) as { time: string };
  t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.ok(before <= Date.parse(time) && Date.parse(time) <= Date.now());
});

t.test('a level that changes holds for children that were made before', async (t) => {
  const threshold = new LogThreshold('info');
  const { log, written } = setup(t, threshold);
  const child = log.child({ actor: 'lane' });
  const grandchild = child.child({});
  child.debug('too fine');
  t.equal(threshold.set('debug'), 'info');
  log.debug('root');
  child.debug('child');
  grandchild.debug({ secretKey: 'hidden' }, 'grandchild');
  child.trace('finer still');
  threshold.set('error');
  child.warn('too light');
  grandchild.error('heavy');
  threshold.set('silent');
  child.fatal('nobody hears');
  t.strictSame(written(), [
    ['debug', 'root'],
    ['debug', 'child', 'lane'],
    ['debug', 'grandchild', 'lane'],
    ['error', 'heavy', 'lane'],
  ]);
});

t.test('whether a level is written can be asked of every child', async (t) => {
  const threshold = new LogThreshold('info');
  const child = setup(t, threshold).log.child({ actor: 'lane' });
  const asked = (): boolean[] => ['trace', 'debug', 'info', 'none'].map((level) => child.isLevelEnabled(level));
  t.strictSame(asked(), [false, false, true, false]);
  threshold.set('trace');
  t.strictSame(asked(), [true, true, true, false]);
});

t.test('a fixed level is a level', async (t) => {
  const file = join(t.testdir(), 'log');
  const log = createLogger({ level: 'warn', to: { file } });
  log.info('no');
  log.warn('yes');
  t.match(readFileSync(file, 'utf8'), /^[^\n]*"msg":"yes"[^\n]*\n$/);
});

t.test('the next level shows more, and then again what is usual', async (t) => {
  t.strictSame(
    (['info', 'debug', 'trace', 'warn', 'silent'] as const).map((level) => new LogThreshold(level).next),
    ['debug', 'trace', 'info', 'info', 'info'],
  );
});

/** What the library makes of a line when it looks into every value by itself. */
function asTheLibraryDoes(bindings: object, fields: object): string {
  const lines: string[] = [];
  const log = pino(
    {
      base: { pid: process.pid },
      timestamp: false,
      redact: {
        paths: ['token', '*.token', 'password', '*.password', 'headers.authorization'],
        censor: '[hidden]',
      },
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => void lines.push(line) },
  );
  log.child(bindings).info(fields, 'said "so"');
  return lines.join('');
}

t.test('secrets are hidden wherever they stand, and all else is written as it is', async (t) => {
  const file = join(t.testdir(), 'log');
  const log = createLogger({ level: 'info', to: { file } });
  const plain = [
    ...['', 'two\nlines', 'a "quoted" word', 'Grüße 🧬', '\u0001\u2028', '\ud800 alone', 'back\\slash', '[hidden]'],
    ...[0, -1.5, 1e21, Number.NaN, Number.POSITIVE_INFINITY, true, false, null, undefined],
  ];
  const nested = [
    { token: 't', kept: 'k' },
    { password: 1 },
    { deep: { token: 'seen' } },
    ['a', { token: 'seen' }],
    {},
  ];
  const lines: { readonly ours: string; readonly library: string }[] = [];
  for (const value of [...plain, ...nested, new Date(0)]) {
    for (const fields of [{ value }, { token: value, other: value }, { headers: value }, { password: value }]) {
      const bindings = typeof value === 'number' ? { actor: 'a', token: 't' } : { actor: value, password: 'p' };
      writeFileSync(file, '');
      log.child(bindings).info(fields, 'said "so"');
      await turn();
      const ours = readFileSync(file, 'utf8').replace(/,"time":"[^"]*"/, '');
      lines.push({ ours, library: asTheLibraryDoes(bindings, fields) });
    }
  }
  t.equal(lines.length, 92);
  t.strictSame(
    lines.map(({ ours }) => ours),
    lines.map(({ library }) => library),
  );
  writeFileSync(file, '');
  log.info({ headers: { authorization: 'a', accept: 'b' }, request: { token: 't', id: 1 } }, 'asked');
  await turn();
  t.match(
    readFileSync(file, 'utf8'),
    '"headers":{"authorization":"[hidden]","accept":"b"},"request":{"token":"[hidden]","id":1}',
  );
});
