import { getEventListeners } from 'node:events';
import t from 'tap';
import { Followers } from '../../../engine/runtime/followers.ts';

t.test(
  'those who follow abort with the signal and its reason, those who left or were never there do not',
  async (t) => {
    const source = new AbortController();
    const followers = new Followers(source.signal);
    const [first, second, left, stranger] = Array.from({ length: 4 }, () => new AbortController());
    if (!first || !second || !left || !stranger) throw new Error('four were made');
    for (const follower of [first, second, left]) followers.add(follower);
    followers.delete(left);
    followers.delete(stranger);
    t.equal(followers.size, 2);
    t.equal(getEventListeners(source.signal, 'abort').length, 1, 'however many follow');
    // One that leaves because another is aborted.
    first.signal.addEventListener('abort', () => followers.delete(second));
    source.abort('the end');
    t.strictSame(
      [first, second, left, stranger].map(({ signal }) => signal.reason),
      ['the end', undefined, undefined, undefined],
    );
    t.equal(followers.size, 0);
  },
);

t.test('who follows a signal that has aborted is aborted at once, and not kept', async (t) => {
  const followers = new Followers(AbortSignal.abort('over'));
  const late = new AbortController();
  followers.add(late);
  t.strictSame([late.signal.reason, followers.size], ['over', 0]);
});
