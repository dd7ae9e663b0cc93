import t from 'tap';
import { answerFaults, rowFaults } from './faults.ts';

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
  t.strictSame(answerFaults([]), ['no test kept what it saw']);
  t.strictSame(answerFaults([{ documented, seen: ['list 200'] }]), ["no test saw 'make 202'"]);
  t.strictSame(
    answerFaults([
      { documented, seen: ['list 200'] },
      { documented, seen: ['make 202'] },
    ]),
    [],
  );
  t.strictSame(answerFaults([{ documented, seen: ['list 200'] }], { 'make 202': 'why' }), []);
  t.strictSame(answerFaults([{ documented, seen: documented }], { 'make 202': 'why' }), ["'make 202' is no exception"]);
});
