import t from 'tap';
import { giveBack, giveBackWithLast } from '../../../engine/runtime/give-back.ts';

t.test('a chunk that is the whole of its memory is empty once it was given back', async (t) => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  giveBack(chunk);
  t.equal(chunk.length, 0);
  t.equal(chunk.buffer.byteLength, 0);
});

t.test('a part of a memory stays, and so does what is beside it', async (t) => {
  const whole = Buffer.alloc(10, 'x');
  giveBack(whole.subarray(1));
  giveBack(Buffer.from('pooled'));
  t.equal(whole.toString(), 'xxxxxxxxxx');
});

t.test('a chunk is given back twice without harm', async (t) => {
  const chunk = Buffer.alloc(100);
  giveBack(chunk);
  t.doesNotThrow(() => giveBack(chunk));
});

t.test('a memory cut into pieces is given back with the one that reaches its end', async (t) => {
  const whole = Buffer.alloc(100, 'x');
  const [first, last] = [whole.subarray(0, 60), whole.subarray(60)];
  giveBackWithLast(first, 100);
  t.equal(last.toString(), 'x'.repeat(40));
  const copy = Buffer.alloc(70, 'y');
  giveBackWithLast(copy, 100);
  t.equal(copy.length, 70, 'one of another size is the collector’s');
  giveBackWithLast(last, 100);
  t.equal(whole.length, 0);
});
