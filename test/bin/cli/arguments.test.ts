import t from 'tap';
import { nearest, oneOf, parse, wholeNumber } from '../../../bin/cli/arguments.ts';
import { UsageError } from '../../../bin/cli/command.ts';

const OPTIONS = {
  target: { type: 'string', multiple: true },
  state: { type: 'string', values: ['queued', 'dead'] },
  json: { type: 'boolean', default: false },
} as const;

t.test('takes options and positionals in any order, and everything after -- as it is', async (t) => {
  const { values, positionals } = parse(['a', '--target', 'X', '--json', '--target=Y', '--', '--no-option'], OPTIONS);
  t.strictSame({ ...values }, { json: true, target: ['X', 'Y'] });
  t.strictSame(positionals, ['a', '--no-option']);
});

t.test('names the option that may have been meant, and says which values an option may have', async (t) => {
  const refusals: readonly (readonly [run: () => unknown, message: string | RegExp])[] = [
    [() => parse(['--traget', 'X'], OPTIONS), "unknown option '--traget'; did you mean '--target'?"],
    [() => parse(['--jsno'], OPTIONS), "unknown option '--jsno'; did you mean '--json'?"],
    [() => parse(['--colour=red'], OPTIONS), "unknown option '--colour'"],
    [() => parse(['-j'], OPTIONS), "unknown option '-j'"],
    [() => parse(['--constructor'], OPTIONS), "unknown option '--constructor'"],
    [() => parse(['--state', 'daed'], OPTIONS), "--state 'daed': must be one of queued, dead; did you mean 'dead'?"],
    [() => parse(['--state'], OPTIONS), /--state/],
    [() => parse(['--json=yes'], OPTIONS), /--json/],
    [() => oneOf('', 'fish', ['bash', 'zsh']), "'fish': must be one of bash, zsh"],
    [() => wholeNumber('n', '7.5', 1, 9), "--n '7.5': must be a whole number from 1 to 9"],
  ];
  for (const [run, message] of refusals)
    t.throws(run, typeof message === 'string' ? new UsageError(message) : { constructor: UsageError, message });
});

t.test('what is too far from every word is taken for none', async (t) => {
  const words = ['upload', 'up', 'jobs', 'reconcile'];
  t.equal(nearest('uplaod', words), 'upload');
  t.equal(nearest('job', words), 'jobs');
  t.equal(nearest('RECONCIL', words), 'reconcile');
  t.equal(nearest('pu', words), 'up');
  t.equal(nearest('banana', words), undefined);
});
