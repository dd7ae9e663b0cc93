import t from 'tap';
import { oneOf, parse, wholeNumber } from '../../bin/arguments.ts';
import { nearest } from '../../bin/nearest.ts';
import { UsageError } from '../../bin/usage-error.ts';

const OPTIONS = {
  target: { type: 'string', multiple: true },
  state: { type: 'string', values: ['queued', 'dead'] },
  json: { type: 'boolean', default: false },
} as const;

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}

t.test('takes options and positionals in any order, and everything after -- as it is', async (t) => {
  const { values, positionals } = parse(['a', '--target', 'X', '--json', '--target=Y', '--', '--no-option'], OPTIONS);
  t.strictSame({ ...values }, { json: true, target: ['X', 'Y'] });
  t.strictSame(positionals, ['a', '--no-option']);
});

t.test('names the option that may have been meant', async (t) => {
  t.equal(
    refusal(() => parse(['--traget', 'X'], OPTIONS)),
    "unknown option '--traget'; did you mean '--target'?",
  );
  t.equal(
    refusal(() => parse(['--jsno'], OPTIONS)),
    "unknown option '--jsno'; did you mean '--json'?",
  );
  t.equal(
    refusal(() => parse(['--colour=red'], OPTIONS)),
    "unknown option '--colour'",
  );
  t.equal(
    refusal(() => parse(['-j'], OPTIONS)),
    "unknown option '-j'",
  );
  t.equal(
    refusal(() => parse(['--constructor'], OPTIONS)),
    "unknown option '--constructor'",
  );
});

t.test('says which values an option may have', async (t) => {
  const state = refusal(() => parse(['--state', 'daed'], OPTIONS));
  t.equal(state, "--state 'daed': one of queued, dead is needed; did you mean 'dead'?");
  t.equal(
    refusal(() => oneOf('', 'fish', ['bash', 'zsh'])),
    "'fish': one of bash, zsh is needed",
  );
  t.match(
    refusal(() => parse(['--state'], OPTIONS)),
    /--state/,
  );
  t.match(
    refusal(() => parse(['--json=yes'], OPTIONS)),
    /--json/,
  );
  t.equal(
    refusal(() => wholeNumber('n', '7.5', 1, 9)),
    "--n '7.5': a whole number from 1 to 9 is needed",
  );
});

t.test('what is too far from every word is taken for none', async (t) => {
  const words = ['upload', 'up', 'jobs', 'reconcile'];
  t.equal(nearest('uplaod', words), 'upload');
  t.equal(nearest('job', words), 'jobs');
  t.equal(nearest('RECONCIL', words), 'reconcile');
  t.equal(nearest('pu', words), 'up');
  t.equal(nearest('banana', words), undefined);
});
