import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createLogger } from '../../engine/log.ts';
import { LogThreshold } from '../../engine/log-threshold.ts';

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
