import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import t, { type Test } from 'tap';
import { tellReady } from '../../../bin/compose/tuning-signals.ts';

const signal = new AbortController().signal;

/** A `systemd-notify` that writes down how it was called, or does what is said. */
async function setup(t: Test, script = 'echo "$NOTIFY_SOCKET $*" >> "$(dirname "$0")/calls"') {
  const dir = join(t.testdir(), 'bin');
  await mkdir(dir);
  await writeFile(join(dir, 'systemd-notify'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const lines: unknown[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  return { dir, log, lines, calls: () => readFile(join(dir, 'calls'), 'utf8').catch(() => '') };
}

t.test('systemd is told once, through its own program', async (t) => {
  const { dir, log, lines, calls } = await setup(t);
  await tellReady({ NOTIFY_SOCKET: '/run/notify', PATH: `${dir}:/usr/bin:/bin` }, log, signal);
  t.strictSame([await calls(), lines], ['/run/notify --ready\n', []]);
});

t.test('started by anybody else, nobody is told', async (t) => {
  const { dir, log, lines, calls } = await setup(t);
  await tellReady({ PATH: dir }, log, signal);
  t.strictSame([await calls(), lines], ['', []]);
});

t.test('a systemd that cannot be told is a line in the log', async (t) => {
  const { dir, log, lines } = await setup(t, 'exit 3');
  await tellReady({ NOTIFY_SOCKET: '/run/notify', PATH: `${dir}:/usr/bin:/bin` }, log, signal);
  t.match(lines, [
    { level: 50, err: /^Command failed: systemd-notify --ready/, msg: /^systemd could not be notified/ },
  ]);
  t.equal(lines.length, 1);
});
