import t from 'tap';
import { mutantsOf, mutated, shown } from './mutants.ts';
import { parses } from './syntax.ts';

/** `kind: before -> after` of every mutant. */
const mutantsIn = (source: string): readonly string[] =>
  mutantsOf('a.ts', source).map(({ kind, before, after }) => `${kind}: ${shown(before)} -> ${shown(after)}`);

t.test('a comparison is moved by one step and turned around', async (t) => {
  t.strictSame(mutantsIn('x = a < b'), ['boundary: < -> <=', 'comparison: < -> >=']);
  t.strictSame(mutantsIn('x = a === b'), ['comparison: === -> !==']);
  t.strictSame(mutantsIn('x = (a /* < */) < (b)'), ['boundary: < -> <=', 'comparison: < -> >=']);
});

t.test('and becomes or; what follows ?? is left out', async (t) => {
  t.strictSame(mutantsIn('x = a && b'), ['logic: && -> ||']);
  t.strictSame(mutantsIn('x = (a || b) ?? c'), ['fallback: (a || b) ?? c -> (a || b)', 'logic: || -> &&']);
  t.strictSame(mutantsIn('x ??= a'), ['arithmetic: ??= -> =']);
  const said = 'x = a // why\n  ?? b;';
  t.strictSame(
    mutantsOf('a.ts', said).map((mutant) => mutated(said, mutant)),
    ['x = a // why;'],
  );
});

t.test('a condition is negated once', async (t) => {
  t.strictSame(mutantsIn('x = a ? b : c'), ['negation: a -> !(a)']);
  t.strictSame(mutantsIn('x = !a ? b : c'), ['negation: !a -> a']);
  t.strictSame(mutantsIn('x = a > b ? c : d'), ['boundary: > -> >=', 'comparison: > -> <=']);
  t.strictSame(mutantsIn('while (a) b = c;'), ['negation: a -> !(a)']);
});

t.test('sums become differences; texts that are put together do not', async (t) => {
  t.strictSame(mutantsIn('x = a + b'), ['arithmetic: + -> -']);
  t.strictSame(mutantsIn("x = a + 'b' + c"), []);
  t.strictSame(mutantsIn('x += `a`'), []);
  t.strictSame(mutantsIn('i++; --i; x = -a'), ['arithmetic: ++ -> --', 'arithmetic: -- -> ++', 'arithmetic: -a -> a']);
});

t.test('whole numbers grow by one, but for keys, fractions and tuned limits', async (t) => {
  t.strictSame(mutantsIn('x = [0, 404, 0.5, 1_000, 60_000, 4096, 1001]'), [
    'integer: 0 -> 1',
    'integer: 404 -> 405',
    'integer: 1001 -> 1002',
  ]);
  t.strictSame(mutantsIn('x = { 1: a, [2]: b }'), ['integer: 2 -> 3']);
  t.strictSame(mutantsIn('x = { firstMs: 0, first: 0 }; const WAIT_MS = 5; class A { graceMs = 1 }'), [
    'integer: 0 -> 1',
  ]);
  t.strictSame(mutantsIn('type A = 1 | 2; let x: 3; interface B { c: true }'), []);
});

t.test('a text is changed where something is compared with it, and nowhere else', async (t) => {
  t.strictSame(mutantsIn("x = a === 'b'"), ['comparison: === -> !==', "string: 'b' -> ''"]);
  t.strictSame(mutantsIn("x = a.startsWith('')"), ["string: '' -> '~'"]);
  t.strictSame(mutantsIn("switch (a) { case 'b': c = 'd'; }"), ["string: 'b' -> ''"]);
  t.strictSame(mutantsIn("x = ['a', 'b'].includes(c)"), ["string: 'a' -> ''", "string: 'b' -> ''"]);
  t.strictSame(mutantsIn("import a from './b.ts'; export * from './c.ts'; x = ['a']; y = f('b')"), []);
});

t.test('a pattern loses its anchors and its flag, and its repetitions change', async (t) => {
  t.strictSame(mutantsIn('x = /^a+[$+]\\+b$/i'), [
    'regexp: /^a+[$+]\\+b$/i -> /^a*[$+]\\+b$/i',
    'regexp: /^a+[$+]\\+b$/i -> /^a+[$+]\\+b$/',
    'regexp: /^a+[$+]\\+b$/i -> /^a+[$+]\\+b/i',
    'regexp: /^a+[$+]\\+b$/i -> /a+[$+]\\+b$/i',
  ]);
});

t.test('a branch is emptied, an else is dropped', async (t) => {
  t.strictSame(mutantsIn('if (a) { b = c; d = e; } else f = g;'), [
    'negation: a -> !(a)',
    'branch: { b = c; d = e; } -> {}',
    'branch: else f = g; -> ',
  ]);
  t.strictSame(mutantsIn('if (a) b();'), ['negation: a -> !(a)', 'call: b(); -> ;'], 'once');
});

t.test('a call is dropped, and so is an await', async (t) => {
  t.strictSame(mutantsIn('await f(a ?? b);'), [
    'await: await f(a ?? b) -> f(a ?? b)',
    'call: await f(a ?? b); -> ;',
    'fallback: a ?? b -> a',
  ]);
  t.strictSame(mutantsIn('x = (await (a ?? b)).c'), ['await: await (a ?? b) -> (a ?? b)', 'fallback: a ?? b -> a']);
  t.strictSame(mutantsIn('async () => { return (await a) as B; }'), ['return: (await a) as B -> undefined']);
  t.strictSame(mutantsIn('async () => await a;'), [], 'a promise of it is the same');
  const awaits = (source: string) => mutantsIn(source).filter((one) => one.startsWith('await'));
  t.strictSame(awaits('async () => { try { return await a; } finally { b = c; } }'), ['await: await a -> a']);
  t.strictSame(awaits('async () => { await using b = c; { return await a; } }'), ['await: await a -> a']);
  t.strictSame(awaits('async () => { try { b = async () => { return await a; } } catch { c = d } }'), []);
  t.strictSame(mutantsIn('a?.b(); void c();'), ['call: a?.b(); -> ;', 'call: void c(); -> ;']);
  t.strictSame(mutantsIn('class A extends B { constructor() { super(); } }'), []);
});

t.test('what is returned is another value of its type, or none', async (t) => {
  t.strictSame(mutantsIn('function f(): boolean { return a; }'), ['return: a -> false', 'return: a -> true']);
  t.strictSame(mutantsIn('async function f(): Promise<boolean> { return g(); }'), [
    'return: g() -> false',
    'return: g() -> true',
  ]);
  t.strictSame(mutantsIn('function f() { return !a; }'), [
    'negation: !a -> a',
    'return: !a -> false',
    'return: !a -> true',
  ]);
  t.strictSame(mutantsIn('function f(): string { return a; }'), ['return: a -> undefined']);
  t.strictSame(mutantsIn('function f() { return; }'), []);
  t.strictSame(mutantsIn('function f(): boolean { return true; }'), ['boolean: true -> false'], 'once');
});

t.test('defaults are dropped', async (t) => {
  t.strictSame(mutantsIn('function f(a: A = b, { c = d }: E = {}) {}'), [
    'default: a: A = b -> a: A',
    'default: { c = d }: E = {} -> { c = d }: E',
    'default: c = d -> c',
  ]);
});

t.test('log calls, messages of errors and texts of schemas are left alone', async (t) => {
  t.strictSame(mutantsIn('log.info({ a: b + 1 }, "c"); this.#ports.log.warn(d ?? e); if (f) log.error(g);'), [
    'negation: f -> !(f)',
  ]);
  t.strictSame(mutantsIn(`throw new RangeError(\`\${a + 1}\`, { cause: b ?? c })`), ['fallback: b ?? c -> b']);
  t.strictSame(mutantsIn('x = { description: a ?? b, minimum: 1 }'), ['integer: 1 -> 2']);
  t.strictSame(mutantsIn('x = { catalog: a.info() ?? b }; math.log(1)'), [
    'fallback: a.info() ?? b -> a.info()',
    'call: math.log(1) -> ;',
    'integer: 1 -> 2',
  ]);
});

t.test('a mutant tells its line, and the line as it stands', async (t) => {
  const source = 'const a = 1;\n  if (b) {\n    c = d;\n  }\n';
  const [, negation, branch] = mutantsOf('a.ts', source);
  t.strictSame([negation?.line, negation?.text, branch?.line, branch?.text], [2, 'if (b) {', 2, 'if (b) {']);
  t.equal(branch && mutated(source, branch), 'const a = 1;\n  if (b) {}\n');
});

t.test('every mutant of a page of code is a program', async (t) => {
  const source = `
    export class Box<T> {
      readonly #items: T[] = [];
      constructor(private_: number = 3) { if (!(private_ >= 0) || private_ > 9) throw new RangeError(\`\${private_}\`); }
      async *all(): AsyncGenerator<T> { for (const item of this.#items) if (await ok(item)) yield item as T; }
      get size(): number { return this.#items.length satisfies number; }
      has = (item: T): item is T => { return this.#items?.includes(item)!; };
    }`;
  const mutants = mutantsOf('a.ts', source);
  t.strictSame(
    mutants.filter((mutant) => !parses(mutated(source, mutant))),
    [],
  );
  t.ok(mutants.length > 15, 'there are some');
});
