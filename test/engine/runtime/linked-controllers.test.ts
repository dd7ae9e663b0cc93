import { getEventListeners } from 'node:events';
import t from 'tap';
import { LinkedControllers } from '../../../engine/runtime/linked-controllers.ts';

t.test(
  'those who follow abort with the signal and its reason, those who left or were never there do not',
  async (t) => {
    const source = new AbortController();
    const controllers = new LinkedControllers(source.signal);
    const [first, second, left, stranger] = Array.from({ length: 4 }, () => new AbortController());
    if (!first || !second || !left || !stranger) throw new Error('four were made');
    for (const follower of [first, second, left]) controllers.add(follower);
    controllers.delete(left);
    controllers.delete(stranger);
    t.equal(controllers.size, 2);
    t.equal(getEventListeners(source.signal, 'abort').length, 1, 'however many follow');
    // One that leaves because another is aborted.
    first.signal.addEventListener('abort', () => controllers.delete(second));
    source.abort('the end');
    t.strictSame(
      [first, second, left, stranger].map(({ signal }) => signal.reason),
      ['the end', undefined, undefined, undefined],
    );
    t.equal(controllers.size, 0);
  },
);

t.test('who follows a signal that has aborted is aborted at once, and not kept', async (t) => {
  const controllers = new LinkedControllers(AbortSignal.abort('over'));
  const late = new AbortController();
  controllers.add(late);
  t.strictSame([late.signal.reason, controllers.size], ['over', 0]);
});
