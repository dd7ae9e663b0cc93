import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { processesAfter, processFacts, startTimeNow } from '../../../../engine/adapters/scripts/process-facts.ts';

async function sleeper(t: Test): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn('/bin/sleep', ['600'], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child as ChildProcess & { readonly pid: number };
}

t.test('processes that were created after one are found, but those that are known', async (t) => {
  const before = await sleeper(t);
  const first = await sleeper(t);
  const [second, third] = [await sleeper(t), await sleeper(t)];
  const found = await processesAfter(first.pid, new Set([third.pid]));
  t.ok(found.includes(second.pid));
  for (const other of [before, first, third]) t.notOk(found.includes(other.pid), `${other.pid} of ${found}`);
});

t.test('many pids later they are still found, and those that ended are not', async (t) => {
  const first = await sleeper(t);
  const ended: number[] = [];
  // Each takes a pid or more.
  for (let n = 0; n < 6; n++) {
    const many = spawn('/bin/sh', ['-c', 'for i in 1 2 3 4 5 6 7 8 9 10; do (:); (:); (:); (:); (:); done'], {
      stdio: 'ignore',
    });
    ended.push(many.pid ?? 0);
    await once(many, 'exit');
  }
  const last = await sleeper(t);
  const found = await processesAfter(first.pid, new Set());
  t.ok(last.pid - first.pid > 256 || last.pid < first.pid, `${last.pid - first.pid} pids later`);
  t.ok(found.includes(last.pid));
  t.strictSame(
    found.filter((pid) => ended.includes(pid)),
    [],
  );
});

t.test('the start time is the same however it is read, and that of nobody is unknown', async (t) => {
  const { pid } = await sleeper(t);
  t.match(startTimeNow(pid), /^\d+$/);
  t.equal((await processFacts(pid))?.startTime, startTimeNow(pid));
  t.equal(startTimeNow(4_194_305), undefined);
});
