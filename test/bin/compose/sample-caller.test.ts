import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, openSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SampleCaller } from '../../../bin/compose/sample-caller.ts';
import { systemClock } from '../../../engine/runtime/time.ts';

const { O_RDONLY, O_RDWR, O_NONBLOCK } = constants;
const signal = new AbortController().signal;

interface Launched {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Its standard output, which nobody reads yet. */
  readonly output: Socket;
  /** Lets it end. */
  end(): Promise<unknown>;
}

/** A launcher that waits, with pipes as a plugin host makes them. */
async function launched(
  t: Test,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Launched> {
  const dir = t.testdir();
  const program = join(dir, 'genelist', 'import');
  await mkdir(join(dir, 'genelist'));
  await writeFile(program, '#!/bin/sh\nexec 5<&0 6>&1 7>&2\necho >&2\nread -r _\n');
  await chmod(program, 0o755);
  const pipes = ['stdin', 'stdout', 'stderr'].map((name) => join(dir, name));
  execFileSync('mkfifo', pipes);
  const stdio = pipes.map((path) => openSync(path, O_RDWR));
  const [, stdout = '', stderr = ''] = pipes;
  const read = (path: string): Socket =>
    new Socket({ fd: openSync(path, O_RDONLY | O_NONBLOCK), readable: true, writable: false });
  const [output, ready] = [read(stdout), read(stderr)];
  t.teardown(() => [output, ready].map((socket) => socket.destroy()));
  const child = spawn(program, args, { env, stdio: stdio as [number, number, number] });
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  await once(ready, 'data');
  const end = async (): Promise<unknown> => {
    child.kill();
    return await exited;
  };
  return { child, pid: child.pid ?? 0, output, end };
}

t.test('arguments and environment are those of the launcher, whatever they hold', async (t) => {
  const args = ['/a "b"\n$c', "/d's \\ é"];
  const env = { DATA_FILES: '/x\ny', DB_PASS: 'a=b="c"', EMPTY: '' };
  const { pid, end } = await launched(t, args, env);
  using caller = new SampleCaller(pid, systemClock);
  t.strictSame(caller.script, { name: 'genelist', kind: 'import', args });
  for (const [name, value] of Object.entries(env)) t.equal(caller.env[name], value);
  t.equal(caller.dataFiles, '/x\ny');
  await end();
  t.throws(() => new SampleCaller(pid, systemClock), { code: 'ENOENT' });
});

t.test(
  'output that does not fit in a pipe is written as it is read, and memory is bounded by the caller',
  async (t) => {
    const { pid, output } = await launched(t, ['/in', '/out']);
    using caller = new SampleCaller(pid, systemClock);
    const line = 'x'.repeat(999);
    for (let n = 0; n < 2_000; n++) caller.add(line, 'stdout');
    const told = caller.tell(signal);
    let bytes = 0;
    for await (const chunk of output) {
      bytes += (chunk as Buffer).length;
      if (bytes === 2_000_000) break;
    }
    await told;
    t.equal(bytes, 2_000_000);
  },
);

t.test('output that nobody reads is given up with the signal', async (t) => {
  const { pid } = await launched(t, ['/in', '/out']);
  using caller = new SampleCaller(pid, systemClock);
  for (let n = 0; n < 200; n++) caller.add('x'.repeat(999), 'stdout');
  const stop = new AbortController();
  const told = caller.tell(stop.signal);
  stop.abort(new Error('stopped'));
  await t.rejects(told, { message: 'stopped' });
});
