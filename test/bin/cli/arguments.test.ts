import t from 'tap';
import { nearest, oneOf, parse, wholeNumber } from '../../../bin/cli/arguments.ts';
import { UsageError } from '../../../bin/cli/command.ts';

const SPEC = {
  arguments: {
    id: { what: 'the id of it' },
    level: { what: 'how loud', optional: true, values: ['low', 'high'] },
    file: { what: 'files', optional: true, many: true },
  },
  options: {
    target: { type: 'string', value: 'ID', multiple: true, otherwise: 'all', what: 'a target' },
    state: { type: 'string', value: 'WORD', values: ['queued', 'dead'], otherwise: 'all', what: 'a state' },
    interval: { type: 'string', value: 'S', default: '2', what: 'an interval' },
    json: { type: 'boolean', what: 'print JSON' },
  },
} as const;
const NEEDED = {
  arguments: {},
  options: { db: { type: 'string', value: 'NAME', required: true, what: 'a name' } },
} as const;

t.test('takes options and arguments in any order, and everything after -- as it is', async (t) => {
  const words = ['a', '--target', 'X', '--json', 'low', '--target=Y', 'f', '--', '--no-option'];
  const { values, args } = parse(words, SPEC);
  t.strictSame(values, { target: ['X', 'Y'], state: undefined, interval: '2', json: true });
  t.strictSame(args, { id: 'a', level: 'low', file: ['f', '--no-option'] });
});

t.test('what is not given has its default', async (t) => {
  t.strictSame(parse(['a'], SPEC), {
    args: { id: 'a', level: undefined, file: [] },
    values: { target: [], state: undefined, interval: '2', json: false },
  });
});

t.test('names the option that may have been meant, and says which values an option may have', async (t) => {
  const refusals: readonly (readonly [run: () => unknown, message: string | RegExp])[] = [
    [() => parse(['--traget', 'X'], SPEC), "unknown option '--traget'; did you mean '--target'?"],
    [() => parse(['--jsno'], SPEC), "unknown option '--jsno'; did you mean '--json'?"],
    [() => parse(['--colour=red'], SPEC), "unknown option '--colour'"],
    [() => parse(['-j'], SPEC), "unknown option '-j'"],
    [() => parse(['--constructor'], SPEC), "unknown option '--constructor'"],
    [() => parse(['--state', 'daed'], SPEC), "--state 'daed': must be one of queued, dead; did you mean 'dead'?"],
    [() => parse(['--state'], SPEC), /--state/],
    [() => parse(['--json=yes'], SPEC), /--json/],
    [() => parse([], SPEC), 'ID is required: the id of it'],
    [() => parse(['a', 'lwo'], SPEC), "'lwo': must be one of low, high; did you mean 'low'?"],
    [() => parse([], NEEDED), '--db NAME is required: a name'],
    [() => parse(['x', 'y', '--db', 'n'], NEEDED), "'x y' is not expected here"],
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
