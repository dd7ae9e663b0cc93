import t from 'tap';
import { settledUnless, settledWithin, unlessAborted } from '../../../engine/runtime/wait.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

t.test('unlessAborted gives the result, the error or the reason', async (t) => {
  const stop = new AbortController();
  t.equal(await unlessAborted(Promise.resolve(1), stop.signal), 1);
  await t.rejects(unlessAborted(Promise.reject(new Error('own')), stop.signal), { message: 'own' });
  const waiting = unlessAborted(new Promise(() => {}), stop.signal);
  stop.abort(new Error('enough'));
  await t.rejects(waiting, { message: 'enough' });
  await t.rejects(unlessAborted(new Promise(() => {}), stop.signal), { message: 'enough' });
});

t.test('settledWithin tells whether it settled in time, well or not', async (t) => {
  const clock = new VirtualClock();
  t.equal(await settledWithin(clock, 10, Promise.resolve()), true);
  t.equal(await settledWithin(clock, 10, Promise.reject(new Error('no'))), true);
  const late = settledWithin(clock, 10, clock.sleep(11));
  await clock.advance(20);
  t.equal(await late, false);
  t.equal(clock.pending, 0);
});

t.test('settledUnless tells whether it settled before the signal', async (t) => {
  const stop = new AbortController();
  t.equal(await settledUnless(Promise.reject(new Error('no')), stop.signal), true);
  const waiting = settledUnless(new Promise(() => {}), stop.signal);
  stop.abort();
  t.equal(await waiting, false);
});
