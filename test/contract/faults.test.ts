import t from 'tap';
import { answerFaults, rowFaults } from './faults.ts';
import type { Seen } from './recorder.ts';

const ROWS = { 'limits/a': 'one', 'limits/b': 'another' };
const test = (name: string, ok = true) => ({ file: 'x.test.ts', name, ok });

t.test('a row counts when its tests ran and passed, and a test when it is a row', async (t) => {
  t.strictSame(rowFaults(ROWS, [test('limits/a'), test('limits/b')]), []);
  t.strictSame(rowFaults(ROWS, [test('limits/a')]), ["no test of 'limits/b' ran and passed"]);
  t.strictSame(rowFaults(ROWS, [test('limits/a'), test('limits/b', false)]), ["no test of 'limits/b' ran and passed"]);
  t.strictSame(rowFaults(ROWS, [test('limits/a'), test('limits/b'), test('limits/b', false)]), [
    "no test of 'limits/b' ran and passed",
  ]);
  t.strictSame(rowFaults(ROWS, [test('limits/a'), test('limits/b'), test('toString')]), [
    "'toString' of x.test.ts is no row",
  ]);
});

t.test('every documented success is seen, in whichever file', async (t) => {
  const documented = ['list 200', 'make 202'];
  const of = (seen: readonly string[]): Seen => ({ service: 'installer', documented, seen, examples: {} });
  t.strictSame(answerFaults([], ['installer']), ['no test kept what it saw of the installer']);
  t.strictSame(answerFaults([of(['list 200'])], ['installer']), ["no test saw 'installer make 202'"]);
  t.strictSame(answerFaults([of(['list 200']), of(['make 202'])], ['installer']), []);
  const exceptions = { 'installer make 202': 'why' };
  t.strictSame(answerFaults([of(['list 200'])], ['installer'], exceptions), []);
  t.strictSame(answerFaults([of(documented)], ['installer'], exceptions), ["'installer make 202' is no exception"]);
});

t.test('what one service showed proves nothing of another', async (t) => {
  const documented = ['getHealth 200'];
  const installer: Seen = { service: 'installer', documented, seen: documented, examples: {} };
  t.strictSame(answerFaults([installer], ['installer', 'handler']), ['no test kept what it saw of the handler']);
  t.strictSame(
    answerFaults([installer, { service: 'handler', documented, seen: [], examples: {} }], ['installer', 'handler']),
    ["no test saw 'handler getHealth 200'"],
  );
});
