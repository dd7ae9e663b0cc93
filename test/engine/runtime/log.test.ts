import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createLogger, LogThreshold } from '../../../engine/runtime/log.ts';

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

t.test('secrets are hidden wherever they stand, and all else is written as it is', async (t) => {
  const file = join(t.testdir(), 'log');
  const log = createLogger({ level: 'info', to: { file } });
  const texts = ['', 'two\nlines', 'a "quoted" word', 'Grüße 🧬', '\u0001\u2028', 'back\\slash', '[hidden]'];
  const plain = [...texts, 0, -1.5, 1e21, true, false, null, ['a'], {}];
  const written = async (bindings: object, fields: object): Promise<unknown> => {
    writeFileSync(file, '');
    log.child(bindings).info(fields, 'said "so"');
    await turn();
    const { time, level, pid, msg, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    t.strictSame([level, pid, msg], ['info', process.pid, 'said "so"']);
    return rest;
  };
  for (const value of plain) {
    t.strictSame(await written({ actor: value }, { value }), { actor: value, value });
    const secret = { token: value, password: value, kept: value };
    const hidden = { token: '[hidden]', password: '[hidden]', kept: value };
    t.strictSame(await written({ password: value }, { ...secret, within: secret }), { ...hidden, within: hidden });
    const deep = await written({ request: { within: [secret] } }, { err: Object.assign(new Error('no'), secret) });
    t.match(deep, { request: { within: [hidden] }, err: { message: 'no', ...hidden } });
  }
  const headers = { authorization: 'a', 'admin-token': 'b', cookie: 'c', accept: 'd' };
  t.strictSame(await written({}, { headers }), {
    headers: { authorization: '[hidden]', 'admin-token': '[hidden]', cookie: '[hidden]', accept: 'd' },
  });
});

t.test('every secret key of the configuration is hidden, wherever it is logged', async (t) => {
  const file = join(t.testdir(), 'log');
  const log = createLogger({ level: 'info', to: { file } });
  const keys = ['password', 'bindPassword', 'secretKey', 'accessToken', 'adminToken', 'token'];
  for (const key of keys) log.error({ [key]: 'planted', section: { [key]: 'planted' } }, key);
  const written = readFileSync(file, 'utf8');
  t.notMatch(written, 'planted');
  for (const key of keys) t.match(written, `"msg":"${key}"`);
});
