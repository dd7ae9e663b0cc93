import t from 'tap';
import { fillArguments, optionLike, type TemplateValues } from '../../../engine/model/handler-job.ts';
import { parseUserId } from '../../../engine/model/ids.ts';

const owner = parseUserId('9007199254740993');
if (!owner) throw new Error('no user id');

const VALUES: TemplateValues = {
  cwd: '/work/job 1',
  started: new Date('2026-02-03T04:05:06.789Z'),
  registration: {
    projects: ['AlphaDB', 'BetaDB'],
    owner,
    name: 'A name',
    description: 'two\nlines',
    summary: 'short',
    origin: 'galaxy',
    handlerParams: { mode: 'fast', 'a-b_C1': '"quoted"', empty: '' },
  },
  inputFiles: ['-n.txt', 'a b.txt', 'c'],
};
const fill = (...args: string[]): string[] => fillArguments(args, VALUES);

t.test('each variable has its value', async (t) => {
  const expected: Readonly<Record<string, string>> = {
    cwd: '/work/job 1',
    date: '2026-02-03',
    'date-time': '2026-02-03T04:05:06Z',
    'ds-description': 'two\nlines',
    'ds-name': 'A name',
    'ds-origin': 'galaxy',
    'ds-summary': 'short',
    'ds-user-id': '9007199254740993',
    'handler-params': 'fast',
    'input-files': 'c',
    projects: 'AlphaDB,BetaDB',
    time: '04:05:06',
    timestamp: '1770091506',
  };
  const spelt: Partial<Record<string, string>> = {
    'handler-params': 'handler-params.mode',
    'input-files': 'input-files[2]',
  };
  for (const [name, value] of Object.entries(expected)) t.strictSame(fill(`<<${spelt[name] ?? name}>>`), [value], name);
});

t.test('what is absent is empty, and stays an argument', async (t) => {
  const bare = { ...VALUES, registration: { projects: ['AlphaDB'], owner, name: 'abc' } };
  const args = ['<<ds-description>>', '<<ds-summary>>', '<<ds-origin>>', ''];
  t.strictSame(fillArguments(args, bare), ['', '', '', '']);
});

t.test('several variables work in one argument, and text that is none stays', async (t) => {
  t.strictSame(fill('--x=<<ds-name>>/<<projects>>:<<handler-params.mode>>.'), ['--x=A name/AlphaDB,BetaDB:fast.']);
  const literal = ['<<>>', '<<unknown>>', '<<CWD>>', '<< cwd >>', '<cwd>', '<<cwd', '<<cwd[0]>>', '<<handler-params>>'];
  t.strictSame(fill(...literal), literal);
});

t.test('what was put in is never expanded again', async (t) => {
  const name = '<<cwd>> <<input-files[9]>> <<handler-params.none>> $& $1';
  const values = { ...VALUES, inputFiles: ['<<ds-name>>'], registration: { ...VALUES.registration, name } };
  t.strictSame(fillArguments(['<<ds-name>>', '<<input-files>>'], values), [name, '<<ds-name>>']);
  const split = { ...VALUES, registration: { ...VALUES.registration, name: '<<', summary: 'cwd>>' } };
  t.strictSame(fillArguments(['<<ds-name>><<ds-summary>>'], split), ['<<cwd>>']);
});

t.test('input files become several arguments; a name that looks like an option is led by its folder', async (t) => {
  t.strictSame(fill('<<input-files>>'), ['./-n.txt', 'a b.txt', 'c']);
  t.strictSame(fill('in:<<input-files>>:out'), ['in:', './-n.txt', 'a b.txt', 'c', ':out']);
  t.strictSame(fill('<<ds-name>>=<<input-files>>'), ['A name=', './-n.txt', 'a b.txt', 'c']);
  t.strictSame(fill('"<<input-files>>"'), ['"./-n.txt a b.txt c"']);
  t.strictSame(fill('<<input-files[0]>>', 'f=<<input-files[1]>>'), ['./-n.txt', 'f=a b.txt']);
});

t.test('an input file that is not there fails the job and is named', async (t) => {
  for (const index of ['3', '-1', '', 'x', '1.0', '99999999999999999999'])
    t.throws(() => fill(`<<input-files[${index}]>>`), {
      kind: 'rejected',
      message: `there is no input file '${index}': the upload has 3 at its top level`,
    });
});

t.test('handler parameters are put in by name; quotes around one go with it', async (t) => {
  t.strictSame(
    fill(
      '<<handler-params.a-b_C1>>',
      '"<<handler-params.mode>>"',
      '"<<handler-params.mode>>',
      '<<handler-params.empty>>',
    ),
    ['"quoted"', 'fast', '"fast', ''],
  );
  for (const name of ['none', 'toString', '__proto__'])
    t.throws(() => fill(`x <<handler-params.${name}>>`), {
      kind: 'rejected',
      message: `handler parameter '${name}' is needed and was not registered`,
    });
});

t.test('no value begins an argument with a dash, and the fault names the key and the value', async (t) => {
  const registration = {
    ...{ projects: ['AlphaDB'], owner, name: '--to-command=id', summary: '-s', description: '' },
    handlerParams: { n: '-5', empty: '', word: 'a-b' },
  };
  const keys = (...templates: string[]): string[] => [...optionLike(templates, registration).keys()];
  t.strictSame(keys('<<ds-name>>'), ['name']);
  t.strictSame(keys('<<ds-summary>>x', '"<<handler-params.n>>"', '<<handler-params.n>>'), [
    'summary',
    'handlerParams.n',
  ]);
  t.strictSame(keys('<<ds-description>><<handler-params.empty>><<ds-name>>'), ['name'], 'after nothing');
  t.strictSame(keys('<<input-files>><<ds-name>>'), ['name'], 'in an argument of its own after files');
  t.strictSame(
    keys('--name=<<ds-name>>', '<<cwd>>/<<ds-name>>', 'n<<handler-params.n>>', '<<handler-params.word>>'),
    [],
  );
  t.strictSame(keys('<<handler-params.none>>', '<<input-files[3]>>'), [], 'what is missing is said by the run');
  t.equal(
    optionLike(['<<ds-name>>'], registration).get('name'),
    "'name' is '--to-command=id': it begins an argument of a command, so it must not begin with '-'",
  );
  t.throws(() => fillArguments(['<<ds-name>>'], { ...VALUES, registration }), {
    kind: 'rejected',
    message: /^'name' is '--to-command=id'/,
  });
});
