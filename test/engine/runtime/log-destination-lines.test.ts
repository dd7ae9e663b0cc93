import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { readableLine } from '../../../engine/runtime/log-destination.ts';

const LOG = join(import.meta.dirname, '..', '..', '..', 'engine', 'runtime', 'log.ts');
const base = { level: 'warn', time: '2026-01-02T12:34:56.789Z', pid: 7, msg: 'job failed' };

t.test('time, level, who, message and fields stand in one line', async (t) => {
  const record = { ...base, lane: 'install', dataset: 'abc', ms: 12, types: ['a b'], reason: 'no room', err: 'gone' };
  t.equal(
    readableLine(`${JSON.stringify(record)}\n`, false),
    '12:34:56.789 WARN  install      job failed dataset=abc ms=12 types=["a b"] reason="no room" err=gone\n',
  );
  t.equal(
    readableLine(JSON.stringify({ ...base, actor: 'http' }), false),
    '12:34:56.789 WARN  http         job failed\n',
  );
  t.equal(
    readableLine(JSON.stringify(base), true),
    '\u001b[2m12:34:56.789\u001b[0m \u001b[33mWARN \u001b[0m -            job failed\n',
  );
});

t.test('the stack of an error follows', async (t) => {
  const err = { type: 'Error', message: 'gone', stack: 'Error: gone\n    at f (file.ts:1)' };
  t.equal(
    readableLine(JSON.stringify({ ...base, err, event: 7 }), false),
    '12:34:56.789 WARN  -            job failed event=7\n    Error: gone\n    at f (file.ts:1)\n',
  );
});

t.test('what strangers wrote cannot command the terminal', async (t) => {
  const line = '\u001b]0;title\u0007\u009b2J\r\u202eabc';
  const err = { stack: `Error: ${line}` };
  const text = readableLine(JSON.stringify({ ...base, line, actor: line, err }), false);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  t.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  t.match(text, 'line="\\u001b]0;title\\u0007\\u009b2J\\r\\u202eabc"');
});

t.test('what is no record is left as it is', async (t) => {
  for (const text of ['no JSON\n', '7\n', 'null\n', '']) t.equal(readableLine(text, true), text);
});

t.test('a terminal gets such lines, whatever else gets JSON', async (t) => {
  const program = `import(${JSON.stringify(LOG)}).then(({ createLogger }) =>
    createLogger({ level: 'info', to: { fd: 1 } }).info({ token: 'secret', dataset: 'abc' }, 'ready'))`;
  const args = ['--input-type=module', '-e', program];
  const piped = execFileSync(process.execPath, args, { encoding: 'utf8' });
  t.match(JSON.parse(piped), { level: 'info', msg: 'ready', dataset: 'abc', token: '[hidden]' });
  const command = [process.execPath, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const seen = execFileSync('script', ['-qec', command, '/dev/null'], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', TERM: 'xterm', NODE_OPTIONS: '' },
  });
  t.match(seen, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}- {12}ready token="\[hidden\]" dataset=abc\r\n$/);
});
