import { spawnSync } from 'node:child_process';
import fs, { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createLogger } from '../../../engine/runtime/log.ts';
import { LogDestination } from '../../../engine/runtime/log-destination.ts';

const LOG = join(import.meta.dirname, '../../../engine/runtime/log.ts');

const FULL = new Error('ENOSPC: no space left on device, write');

/** A file that is written to; `writes` notes each write as the system gets it, `failure` makes them fail. */
function setup(t: Test) {
  const file = join(t.testdir(), 'log');
  const writes: string[] = [];
  const disk: { failure?: Error } = {};
  const { writeSync } = fs;
  t.intercept(fs, 'writeSync', {
    value: (fd: number, data: string | Uint8Array, ...more: []) => {
      if (disk.failure) throw disk.failure;
      writes.push(data.toString());
      return writeSync(fd, data as string, ...more);
    },
  });
  return { file, disk, writes, lines: () => readFileSync(file, 'utf8').split('\n').slice(0, -1) };
}

t.test('the lines of a turn go out in one write at its end, in their order', async (t) => {
  const { file, writes } = setup(t);
  const destination = new LogDestination({ file });
  for (const line of ['1\n', '2\n', '3\n']) destination.write(line);
  t.strictSame(writes, []);
  await turn();
  destination.write('4\n');
  await turn();
  t.strictSame(writes, ['1\n2\n3\n', '4\n']);
});

t.test('a warning goes out at once, and with it what waited', async (t) => {
  const { file, writes } = setup(t);
  const log = createLogger({ level: 'info', to: { file } });
  log.info('first');
  log.child({ actor: 'lane' }).warn('second');
  log.info('third');
  t.equal(writes.length, 1);
  t.match(writes[0], /"first".*\n.*"second"/);
  await turn();
  t.match(writes[1], /^.*"third".*\n$/);
});

t.test('a turn that logs without end does not gather without end', async (t) => {
  const { file, writes, lines } = setup(t);
  const destination = new LogDestination({ file });
  const line = 'x'.repeat(1023);
  for (let n = 0; n < 1000; n++) destination.write(`${line}\n`);
  t.equal(writes.length, 15);
  t.equal(Math.max(...writes.map(({ length }) => length)), 65_536);
  await turn();
  t.strictSame(lines(), Array(1000).fill(line));
});

t.test(
  'a process that ends itself or breaks writes what waits first; one that is killed has what was written',
  async (t) => {
    const ends = {
      exit: "log.info('last'); process.exit(3)",
      broken: "log.info('last'); throw new Error('broken')",
      rejected: "log.info('last'); await Promise.reject(new Error('broken'))",
      killed: "log.warn('last'); process.kill(process.pid, 'SIGKILL')",
    };
    for (const [name, end] of Object.entries(ends)) {
      const file = join(t.testdir(), 'log');
      const program = `import { createLogger } from ${JSON.stringify(LOG)};
      const log = createLogger({ level: 'info', to: { file: ${JSON.stringify(file)} } });
      log.info('before');
      ${end};`;
      const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
      t.not(status, 0, name);
      t.match(readFileSync(file, 'utf8'), /"before".*\n.*"last".*\n$/, name);
    }
  },
);

t.test(
  'a full disk costs lines and throws nothing; the first are kept and written when there is room again',
  async (t) => {
    const { file, disk, lines } = setup(t);
    const told: unknown[] = [];
    const destination = new LogDestination(
      { file },
      { failed: (error) => told.push(error), recovered: (lost) => told.push(lost) },
    );
    const line = (n: number): string => `${String(n).padStart(6)}${'x'.repeat(1024 * 1024 - 7)}\n`;
    disk.failure = FULL;
    for (let n = 0; n < 20; n++) {
      destination.write(line(n));
      await turn();
    }
    t.strictSame(told, [FULL], 'once');
    t.strictSame(lines(), []);
    delete disk.failure;
    destination.write('there is room\n');
    await turn();
    t.strictSame(
      lines().map((text) => text.slice(0, 6).trim()),
      ['0', '1', '2', '3', '4'],
    );
    t.strictSame(told, [FULL, 16], 'those that were too many, and the one that found room');
    destination.write('as ever\n');
    await turn();
    t.equal(lines().at(-1), 'as ever');
  },
);

t.test('a write of which a part went through goes on where it ended', async (t) => {
  const { file, lines } = setup(t);
  const { writeSync } = fs;
  let calls = 0;
  t.intercept(fs, 'writeSync', {
    value: (fd: number, data: string | Uint8Array) => {
      if (++calls === 2) throw FULL;
      return writeSync(fd, Buffer.from(data as string).subarray(0, calls === 1 ? 5 : undefined));
    },
  });
  const destination = new LogDestination({ file }, { failed: () => {} });
  for (const line of ['abcdefg\n', 'hijk\n']) {
    destination.write(line);
    destination.flush();
  }
  t.strictSame(lines(), ['abcdefg', 'hijk']);
});

t.test('after a time without, the log says that it is written again and how much is missing', async (t) => {
  const { file, disk, lines } = setup(t);
  const log = createLogger({ level: 'info', to: { file } });
  log.info('as ever');
  await turn();
  disk.failure = FULL;
  log.info('kept');
  log.error('kept, too');
  await turn();
  delete disk.failure;
  log.info('there is room');
  await turn();
  const said = lines().map((line) => JSON.parse(line) as { msg: string; lost?: number });
  t.strictSame(
    said.map(({ msg, lost }) => [msg, lost]),
    [
      ['as ever', undefined],
      ['kept', undefined],
      ['kept, too', undefined],
      ['there is room', undefined],
      ['the log is written again', 0],
    ],
  );
});

t.test('a process whose log is on a full device goes on, and says so once', async (t) => {
  const program = `import { createLogger } from ${JSON.stringify(LOG)};
    const log = createLogger({ level: 'info', to: { file: '/dev/full' } });
    for (let n = 0; n < 3; n++) log.warn({ n }, 'nobody hears');
    await new Promise(setImmediate);
    console.log('alive');`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  t.strictSame(
    [status, stdout, stderr],
    [0, 'alive\n', 'longshore: the log cannot be written: ENOSPC: no space left on device, write\n'],
  );
});
