import { getEventListeners } from 'node:events';
import t from 'tap';
import { JoinedSignal, LinkedControllers } from '../../../engine/runtime/joined-signal.ts';
import { aliveAfter, Forgetful } from '../../support/live-objects.ts';

const listeners = (...sources: readonly AbortController[]): readonly number[] =>
  sources.map(({ signal }) => getEventListeners(signal, 'abort').length);

t.test('aborts with the first source that does, and follows nobody any more', async (t) => {
  const [first, second] = [new AbortController(), new AbortController()];
  using joined = new JoinedSignal(first.signal, undefined, second.signal);
  const seen: unknown[] = [];
  joined.signal.addEventListener('abort', () => seen.push(joined.signal.reason));
  t.strictSame([joined.signal.aborted, ...listeners(first, second)], [false, 1, 1]);
  second.abort('the second');
  first.abort('too late');
  t.strictSame([seen, joined.signal.reason, ...listeners(first, second)], [['the second'], 'the second', 0, 0]);
});

t.test('is aborted at once when a source is', async (t) => {
  const other = new AbortController();
  using joined = new JoinedSignal(other.signal, AbortSignal.abort('before'), AbortSignal.abort('later'));
  t.strictSame([joined.signal.reason, ...listeners(other)], ['before', 0]);
});

t.test('aborts when its owner says so, once', async (t) => {
  const source = new AbortController();
  using joined = new JoinedSignal(source.signal);
  joined.abort('enough');
  joined.abort('again');
  t.strictSame([joined.signal.reason, source.signal.aborted, ...listeners(source)], ['enough', false, 0]);
});

t.test('stays as it is once disposed of', async (t) => {
  const source = new AbortController();
  const joined = new JoinedSignal(source.signal);
  joined[Symbol.dispose]();
  joined[Symbol.dispose]();
  source.abort('the end');
  t.strictSame([joined.signal.aborted, ...listeners(source)], [false, 0]);
});

t.test('one that is disposed of is not kept, whoever still listens', async (t) => {
  const source = new AbortController();
  const joinOften = (): void => {
    for (let i = 0; i < 100; i++) {
      using joined = new JoinedSignal(source.signal, new AbortController().signal);
      Forgetful.listenTo(joined.signal);
    }
  };
  t.equal(await aliveAfter(joinOften, Forgetful), 0);
  t.equal(source.signal.aborted, false, 'the source lives on');
});

t.test('one that is not disposed of is kept by its sources', async (t) => {
  const source = new AbortController();
  const join = (): void => Forgetful.listenTo(new JoinedSignal(source.signal).signal);
  t.equal(await aliveAfter(join, Forgetful), 1);
  t.equal(source.signal.aborted, false, 'the source lives on');
});

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
