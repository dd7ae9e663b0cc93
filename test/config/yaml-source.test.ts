import t from 'tap';
import { readYaml } from '../../config/yaml-source.ts';

const faultsOf = (text: string): string[] =>
  readYaml(text).faults.map(({ position: { line, column }, found }) => `${line}:${column} ${found}`);

t.test('gives each value its place', async (t) => {
  const { value, marks } = readYaml('a:\n  b: [1, two]\n"c d": {e: 1.0}\n');
  t.same(value, { a: { b: [1, 'two'] }, 'c d': { e: 1 } });
  t.same(Object.fromEntries(marks), {
    '': { value: { line: 1, column: 1 } },
    '/a': { value: { line: 2, column: 3 }, key: { line: 1, column: 1 } },
    '/a/b': { value: { line: 2, column: 6 }, key: { line: 2, column: 3 } },
    '/a/b/0': { value: { line: 2, column: 7 }, text: '1' },
    '/a/b/1': { value: { line: 2, column: 10 } },
    '/c d': { value: { line: 3, column: 8 }, key: { line: 3, column: 1 } },
    '/c d/e': { value: { line: 3, column: 12 }, key: { line: 3, column: 9 }, text: '1.0' },
  });
});

t.test('reads the scalars of YAML 1.2: yes and 010 are not what 1.1 made of them', async (t) => {
  t.same(readYaml('[yes, 010, 0x10, 1e3, ~, "5", 30d, true, 2001-01-01]').value, [
    'yes',
    10,
    16,
    1000,
    null,
    '5',
    '30d',
    true,
    '2001-01-01',
  ]);
});

t.test('aliases and merge keys are expanded', async (t) => {
  const text = 'x: &x {a: 1, b: 2}\ny: *x\nz: {<<: *x, b: 3}\nv: {b: 4, <<: [{a: 5}, *x]}\n';
  const x = { a: 1, b: 2 };
  t.same(readYaml(text).value, { x, y: x, z: { b: 3, a: 1 }, v: { b: 4, a: 5 } });
  t.same(faultsOf(text), []);
});

t.test('an alias means the last anchor before it', async (t) => {
  t.same(readYaml('[&a 1, *a, &a 2, *a]').value, [1, 1, 2, 2]);
});

t.test('an alias bomb is refused before it exists', async (t) => {
  const levels = Array.from({ length: 9 }, (_, i) => {
    const item = i === 0 ? 'lol' : `*l${i - 1}`;
    return `l${i}: &l${i} [${Array.from({ length: 10 }, () => item).join(', ')}]`;
  });
  const { readable, faults } = readYaml(levels.join('\n'));
  t.equal(readable, false);
  t.match(faults, [{ found: 'more than 50000 values after expanding aliases', allowed: 'at most 50000 values' }]);
  t.equal(faults.length, 1);
});

t.test('a bomb of merge keys is refused too', async (t) => {
  const keys = (prefix: string) => Array.from({ length: 300 }, (_, i) => `${prefix}${i}: 1`).join(', ');
  const merges = Array.from({ length: 300 }, (_, i) => `k${i}: {<<: *m}`).join('\n');
  t.match(readYaml(`m: &m {${keys('a')}}\n${merges}\n`), { readable: false });
});

t.test('circles are refused', async (t) => {
  t.same(faultsOf('a: &a [1, *a]'), ['1:11 the alias *a inside its own anchor']);
  t.same(faultsOf('a: &a {<<: *a}'), ['1:12 a merge of something else']);
  t.same(faultsOf('a: *b\nb: &b 1'), ['1:4 an alias without an anchor before it (quote a value that begins with *)']);
});

t.test('custom tags are refused, core tags are not', async (t) => {
  t.same(faultsOf('a: !secret x\nb: !!binary eHg=\nc: !!str 5'), [
    '1:12 a tag (quote a value that begins with !)',
    '2:13 the tag "tag:yaml.org,2002:binary"',
  ]);
  t.same(readYaml('c: !!str 5').value, { c: '5' });
});

t.test('duplicate keys, odd keys and __proto__ are refused, each at its place', async (t) => {
  t.same(faultsOf('a: 1\nb: 2\na: 3\n'), ['3:1 the key a second time']);
  t.same(faultsOf('? [a]\n: 1\n'), ['1:3 a key that is not text']);
  t.same(faultsOf('__proto__: {polluted: true}\n'), ["1:1 the key '__proto__'"]);
});

t.test('syntax faults have a place and never quote the text', async (t) => {
  const texts: Record<string, string> = {
    'password: @hunter2': '1:11 a value that starts with a reserved character (quote it)',
    'a: hunter2: x': "1:4 a second 'key: value' on one line (quote the value if it holds ': ')",
    'a:\n\tb: hunter2': '2:1 a tab as indentation',
    'a: "hunter2': '1:4 a double quote that is not closed',
    'a: 1\n---\nb: hunter2': '2:1 a second document',
    'a: *hunter2': '1:4 an alias without an anchor before it (quote a value that begins with *)',
    'a: !hunter2': '1:12 a tag (quote a value that begins with !)',
  };
  for (const [text, fault] of Object.entries(texts)) t.equal(faultsOf(text)[0], fault, JSON.stringify(text));
});

t.test('another YAML version is refused', async (t) => {
  t.same(faultsOf('%YAML 1.1\n---\na: yes\n'), ['1:1 %YAML 1.1']);
});

t.test('deep nesting is a fault, not a crash', async (t) => {
  t.match(faultsOf(`a: ${'['.repeat(20_000)}`)[0], /nested too deeply/);
  const deep = `${'['.repeat(150)}${']'.repeat(150)}`;
  t.match(faultsOf(deep), ['1:102 more than 100 levels after expanding aliases']);
});

t.test('sixty thousand keys are refused in moments', async (t) => {
  const text = Array.from({ length: 60_000 }, (_, i) => `k${i}: 1`).join('\n');
  t.match(readYaml(text), { readable: false });
});

t.test('whole numbers beyond 2^53 are rounded towards zero', async (t) => {
  t.same(readYaml('[9223372036854775807, 9223372036854775808, -9223372036854775809, 9007199254740993]').value, [
    2 ** 63 - 1024,
    2 ** 63,
    -(2 ** 63),
    2 ** 53,
  ]);
});
