import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fullRunFault, joined, ofToday, redSteps } from './last-full-run.ts';

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

t.test('what was red is run again, and the run stays as old as it is', async (t) => {
  const result = (name: string, passed: number, failed: number) => ({ name, passed, failed, seconds: 1.4 });
  const before = joined(undefined, {
    ...{ commit: 'first', date: 'monday', flaky: ['a.test.ts'] },
    results: [result('unit', 10, 0), result('browser', 3, 1)],
  });
  t.match(before, { commit: 'first', passed: 13, failed: 1, seconds: 2 });
  const steps = [{ name: 'unit' }, { name: 'browser' }, { name: 'new' }];
  t.strictSame(redSteps(before, steps), [{ name: 'browser' }, { name: 'new' }]);
  t.strictSame(
    Object.keys(ofToday(before, [{ name: 'unit' }]).suites),
    ['unit'],
    'a suite that is no more is left out',
  );
  const after = { commit: 'second', date: 'tuesday', flaky: ['b.test.ts'] };
  t.strictSame(joined(before, { ...after, results: [result('browser', 5, 0)] }), {
    ...{ commit: 'first', date: 'tuesday', seconds: 2, passed: 15, failed: 0, flaky: ['a.test.ts', 'b.test.ts'] },
    suites: {
      unit: { passed: 10, failed: 0, seconds: 1 },
      browser: { passed: 5, failed: 0, seconds: 1, commit: 'second' },
    },
  });
  const many = { ...after, flaky: ['c', 'd', 'e'], results: [result('browser', 5, 0)] };
  t.equal(joined(before, many).failed, 1, 'more files than may were right only when run again');
});
