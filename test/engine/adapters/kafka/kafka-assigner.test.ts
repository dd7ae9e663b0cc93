import t from 'tap';
import { shares } from '../../../../engine/adapters/kafka/kafka-assigner.ts';

const member = (memberId: string, ...topics: string[]) => ({ memberId, topics: new Set(topics) });
const topic = (name: string, partitions: number) => ({
  topic: name,
  // As brokers may list them: in no order.
  ids: Array.from({ length: partitions }, (_, n) => partitions - 1 - n),
});
const plain = (given: ReadonlyMap<string, object>): object => Object.fromEntries(given);

t.test('each partition has one reader, and readers have the same number of them', async (t) => {
  const given = shares([member('a', 'x', 'y'), member('b', 'x', 'y')], [topic('x', 3), topic('y', 3)]);
  t.strictSame(plain(given), { a: { x: [0, 2], y: [1] }, b: { x: [1], y: [0, 2] } });
});

t.test('a partition goes to a member that subscribed its topic', async (t) => {
  const given = shares(
    [member('a', 'old', 'both'), member('b', 'new', 'both')],
    [topic('both', 2), topic('new', 1), topic('old', 2)],
  );
  t.strictSame(plain(given), { a: { both: [0], old: [0, 1] }, b: { both: [1], new: [0] } });
});

t.test('members beyond the partitions have none', async (t) => {
  const given = shares([member('a', 'x'), member('b', 'x')], [topic('x', 1)]);
  t.strictSame(plain(given), { a: { x: [0] }, b: {} });
});
