// The reference of log events against the sources.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type LoggedMessage, loggedMessages } from './support/log-calls.ts';

const root = join(import.meta.dirname, '..');
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Row extends LoggedMessage {
  readonly meaning: string;
  readonly todo: string;
}

const rows: readonly Row[] = textOf('engine/LOG-EVENTS.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [message = '', levels = '', meaning = '', todo = '', ...more] = line.slice(2, -2).split(' | ');
    if (more.length > 0 || todo === '') throw new Error(`not four cells: ${line}`);
    return { message: message.slice(1, -1), levels: levels.split(', '), meaning, todo };
  });

/** What the sources log, each message once, at every level at which it is logged anywhere. */
function logged(): readonly LoggedMessage[] {
  const levels = new Map<string, Set<string>>();
  for (const file of globSync('{bin,engine,actors,http,config}/**/*.ts', { cwd: root }))
    for (const one of loggedMessages(textOf(file)))
      levels.set(one.message, new Set([...(levels.get(one.message) ?? []), ...one.levels]));
  return [...levels].map(([message, all]) => ({ message, levels: [...all].sort() }));
}

const lines = (all: readonly LoggedMessage[]): string[] =>
  all.map(({ message, levels }) => `| \`${message}\` | ${levels.join(', ')} |`).sort();

t.test(
  'engine/LOG-EVENTS.md has every message that is logged at info or above, at its levels, and no other',
  async (t) => {
    const inSources = lines(logged());
    const inTable = lines(rows);
    t.strictSame(
      inSources.filter((line) => !inTable.includes(line)),
      [],
      'add these rows, with what they mean and what to do',
    );
    t.strictSame(
      inTable.filter((line) => !inSources.includes(line)),
      [],
      'remove these rows',
    );
    t.ok(rows.length > 100);
    t.equal(new Set(inTable).size, rows.length, 'each stands once');
  },
);

t.test('every row says what it means and what to do', async (t) => {
  t.strictSame(
    rows.filter(({ meaning, todo }) => !/[.]$/.test(meaning) || todo === '').map(({ message }) => message),
    [],
  );
});

t.test('messages and levels are found however they are logged', async (t) => {
  const source = `
    // log.info('in a comment');
    const KEPT = 'a constant';
    log.info('plain');
    this.#parts.log.warn({ a: f(1, '),'), b: \`x\${y}\` }, 'with fields');
    const level = kindOf(error) === 'defect' ? 'error' : 'warn';
    log[level]({ err }, 'computed');
    log[bad ? 'error' : 'info'](fields, KEPT);
    context.log.info({}, \`\${folder.noun} put\`);
    log.warn({}, vital ? 'one' : 'other');
    log.debug('too quiet');
    this.#say('info', job, 'through a method');
    #say(level: 'info' | 'warn', { id }: Job, message: string): void {
      this.#ports.log[level]({ id }, message);
    }
    catalog.info('no logger');
  `;
  t.strictSame(loggedMessages(source), [
    { message: 'a constant', levels: ['error', 'info'] },
    { message: 'computed', levels: ['error', 'warn'] },
    { message: 'one', levels: ['warn'] },
    { message: 'other', levels: ['warn'] },
    { message: 'plain', levels: ['info'] },
    { message: 'through a method', levels: ['info'] },
    { message: 'with fields', levels: ['warn'] },
    { message: '… put', levels: ['info'] },
  ]);
  t.throws(() => loggedMessages('log.info(fields, made(up));'), { message: /no message can be told .*made\(up\)/ });
});
