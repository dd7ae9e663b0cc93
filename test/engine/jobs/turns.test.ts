import t from 'tap';
import { Turns } from '../../../engine/jobs/turns.ts';

t.test('the fewest running come first, then those that began longest ago', (t) => {
  const turns = new Turns();
  for (const tenant of ['a', 'b', 'a']) turns.began(tenant);
  const first = (running: Readonly<Record<string, number>>): string | undefined =>
    Object.keys(running).sort((a, b) => turns.rankOf(a, running[a] ?? 0) - turns.rankOf(b, running[b] ?? 0))[0];
  t.equal(first({ a: 0, b: 1 }), 'a');
  t.equal(first({ a: 1, b: 1 }), 'b');
  t.equal(first({ a: 0, b: 0, c: 0 }), 'c', 'one that never began');
  t.end();
});

t.test('no more than a thousand tenants are remembered, the latest', (t) => {
  const turns = new Turns();
  for (let i = 0; i <= 1_000; i++) turns.began(String(i));
  t.strictSame([turns.rankOf('0', 0), turns.rankOf('1', 0), turns.rankOf('1000', 0)], [0, 2, 1_001]);
  t.end();
});
