import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fullRunFault } from './last-full-run.ts';

function file(t: Test, failed: number): string {
  const path = join(t.testdir(), 'last.json');
  writeFileSync(path, JSON.stringify({ commit: 'abc123', failed }));
  return path;
}

t.test('a full run of up to 150 commits ago is good for a landing', async (t) => {
  t.equal(
    fullRunFault(() => 150, file(t, 0)),
    undefined,
  );
  t.match(
    fullRunFault(() => 151, file(t, 0)),
    /^151 commits old, at most 150/,
  );
});

t.test('one that failed, is missing or is of another history is not', async (t) => {
  t.match(
    fullRunFault(() => 0, file(t, 2)),
    /^2 tests failed at abc123/,
  );
  t.match(
    fullRunFault(() => 0, join(t.testdir(), 'none.json')),
    /^missing/,
  );
  const unknown = (): number => {
    throw new Error('bad object');
  };
  t.match(fullRunFault(unknown, file(t, 0)), /^commit abc123 is not in this history.*bad object/);
});
