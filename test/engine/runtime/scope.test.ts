import t from 'tap';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Scope } from '../../../engine/runtime/scope.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

function setup() {
  const clock = new VirtualClock();
  const closed: string[] = [];
  const scope = new Scope({ clock, log: silentLogger(), closeMs: 1000 });
  const resource = (name: string) => ({ [Symbol.asyncDispose]: async () => void closed.push(name) });
  return { clock, closed, scope, resource };
}

t.test('closes in reverse order, once', async (t) => {
  const { closed, scope, resource } = setup();
  await scope.open('database', Promise.resolve(resource('database')));
  scope.use('file', { [Symbol.dispose]: () => void closed.push('file') });
  scope.defer('timer', () => closed.push('timer'));
  await Promise.all([scope[Symbol.asyncDispose](), scope[Symbol.asyncDispose]()]);
  t.strictSame(closed, ['timer', 'file', 'database']);
});

t.test('one that fails or hangs does not keep the others open', async (t) => {
  const { clock, closed, scope, resource } = setup();
  scope.use('first', resource('first'));
  scope.defer('hangs', () => new Promise(() => {}));
  scope.defer('throws', () => {
    throw new Error('no');
  });
  scope.defer('rejects', () => Promise.reject(new Error('no')));
  const closing = scope[Symbol.asyncDispose]();
  await clock.advance(999);
  t.strictSame(closed, []);
  await clock.advance(1);
  await closing;
  t.strictSame(closed, ['first']);
});

t.test('what could not be opened leaves the earlier ones to the caller', async (t) => {
  const { closed, scope, resource } = setup();
  const opening = async (): Promise<void> => {
    await using owned = scope;
    await owned.open('first', Promise.resolve(resource('first')));
    await owned.open('second', Promise.reject(new Error('refused')));
  };
  await t.rejects(opening(), { message: 'refused' });
  t.strictSame(closed, ['first']);
});

t.test('what comes after the end is closed at once and refused', async (t) => {
  const { clock, closed, scope, resource } = setup();
  await scope[Symbol.asyncDispose]();
  t.throws(() => scope.use('late', resource('late')), { kind: 'aborted', message: /'late'/ });
  await clock.settle();
  t.strictSame(closed, ['late']);
});
