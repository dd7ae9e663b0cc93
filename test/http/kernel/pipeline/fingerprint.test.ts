import { Readable } from 'node:stream';
import t from 'tap';
import { Fingerprint } from '../../../../http/kernel/pipeline/fingerprint.ts';

const document = (value: unknown, name = 'a'): string => {
  const print = new Fingerprint();
  print.document(name, value);
  return print.digest();
};

async function bytes(chunks: readonly string[], jsonBytes?: number): Promise<string> {
  const print = new Fingerprint();
  const seen: string[] = [];
  const body = Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );
  for await (const chunk of print.bytes('a', body, jsonBytes)) seen.push(String(chunk));
  t.equal(seen.join(''), chunks.join(''), 'the bytes pass unchanged');
  return print.digest();
}

t.test('white space and the order of members do not count in a document; everything else does', async (t) => {
  const same = document({ a: [1, { b: '9223372036854775807', c: null }], d: 'x' });
  t.equal(document({ d: 'x', a: [1, { c: null, b: '9223372036854775807' }] }), same);
  for (const other of [
    { a: [{ b: '9223372036854775807', c: null }, 1], d: 'x' },
    { a: [1, { b: '9223372036854775806', c: null }], d: 'x' },
    { a: [1, { b: '9223372036854775807' }], d: 'x' },
    { a: [1, { b: '9223372036854775807', c: null }], d: 'x', e: undefined, f: '' },
  ])
    t.not(document(other), same);
  t.not(document(1), document('1'));
  t.not(document(1, 'a'), document(1, 'b'));
});

t.test('of bytes neither the chunks count nor the order of parts', async (t) => {
  t.equal(await bytes(['abc', 'def']), await bytes(['a', 'bcdef']));
  t.not(await bytes(['abc']), await bytes(['abd']));
  const [one, two] = [new Fingerprint(), new Fingerprint()];
  one.document('a', 1);
  one.document('b', 2);
  two.document('b', 2);
  two.document('a', 1);
  t.equal(one.digest(), two.digest());
  two.document('b', 2);
  t.not(one.digest(), two.digest(), 'a part that comes twice');
});

t.test('JSON up to the bound counts as a document, anything else as bytes', async (t) => {
  t.equal(await bytes(['{"a":1,', '"b":2}'], 13), await bytes(['{ "b":2,"a":1}'], 14));
  t.not(await bytes(['{ "a":1,', '"b":2}'], 13), await bytes(['{ "b":2,"a":1}'], 14), 'longer than the bound');
  t.not(await bytes(['{"a":1'], 10), await bytes(['{"a":1 '], 10), 'no JSON');
});

t.test('a destroyed result destroys the body, and a failing body fails the result', async (t) => {
  const body = new Readable({ read: () => undefined });
  const print = new Fingerprint();
  const hashed = print.bytes('a', body);
  hashed.destroy();
  await new Promise((resolve) => body.once('close', resolve));
  t.equal(body.destroyed, true);
  const failing = new Readable({ read: () => undefined });
  const read = print.bytes('b', failing).toArray();
  failing.destroy(new Error('cut off'));
  await t.rejects(read, { message: 'cut off' });
});
