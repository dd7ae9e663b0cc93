import t from 'tap';
import { RequestIds } from '../../../../http/kernel/pipeline/request-ids.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

t.test('every id is a UUID of its own, also past those that share a stem', (t) => {
  const ids = new RequestIds();
  const given = Array.from({ length: 150_000 }, () => ids.next());
  t.equal(new Set(given).size, given.length);
  t.strictSame(
    given.filter((id) => !UUID.test(id)),
    [],
  );
  t.equal(new Set(given.map((id) => id.slice(0, -4))).size, 3);
  t.end();
});

t.test('no two services give the same', (t) => {
  t.not(new RequestIds().next(), new RequestIds().next());
  t.end();
});
