import t from 'tap';
import { runStep, type StepResult, summary } from './steps.ts';

const ran = async (run: string, check?: true) => {
  const { passed, failed, flaky } = await runStep({ name: 'a step', run, ...(check && { check }) });
  return { passed, failed, flaky };
};

t.test('a suite counts what its last line says, and names its flaky files', async (t) => {
  t.same(await ran('echo 1 passed, 0 failed; echo flaky: test/a.test.ts; echo 7 passed, 0 failed'), {
    passed: 7,
    failed: 0,
    flaky: ['test/a.test.ts'],
  });
  t.same(await ran('echo 7 passed, 2 failed; exit 1'), { passed: 7, failed: 2, flaky: [] });
});

t.test('a suite that prints no count, or ends badly though it counts no failure, has failed', async (t) => {
  t.same(await ran('echo all is well'), { passed: 0, failed: 1, flaky: [] });
  t.same(await ran('echo 7 passed, 0 failed; exit 3'), { passed: 7, failed: 1, flaky: [] });
  t.same(await ran('kill -9 $$'), { passed: 0, failed: 1, flaky: [] });
});

t.test('a check counts as one', async (t) => {
  t.same(await ran('true', true), { passed: 1, failed: 0, flaky: [] });
  t.same(await ran('false', true), { passed: 0, failed: 1, flaky: [] });
});

t.test('more than three flaky files in all the suites fail the whole', async (t) => {
  const step = (...flaky: string[]): StepResult => ({ name: 's', passed: 2, failed: 0, seconds: 1, flaky });
  t.same(summary([step('a', 'b'), step('c')]), { passed: 4, failed: 0, flaky: ['a', 'b', 'c'] });
  t.match(summary([step('a', 'b'), step('c', 'd')]), { passed: 4, failed: 1 });
});
