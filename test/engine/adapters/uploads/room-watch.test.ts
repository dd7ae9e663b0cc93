import t from 'tap';
import { RoomWatch } from '../../../../engine/adapters/uploads/room-watch.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { objectStoreConformance } from '../../../conformance/object-store.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';

objectStoreConformance('the store whose room is watched', async () => {
  const inner = new FakeObjectStore(Date.now);
  return { store: new RoomWatch(inner), changes: () => inner.changes };
});

t.test('a store that refuses a write for lack of room counts as full until a write succeeds', async (t) => {
  const inner = new FakeObjectStore(Date.now);
  const store = new RoomWatch(inner);
  const put = () => store.put('42/d1/raw/a', Buffer.from('a'), {}, new AbortController().signal);
  const away = transient('away');
  const full = transient('full', { cause: Object.assign(new Error('full'), { code: 'XMinioStorageFull' }) });
  const states: boolean[] = [];
  for (const failure of [away, full, away, undefined]) {
    inner.onCall = () => {
      if (failure) throw failure;
    };
    if (failure) await t.rejects(put(), failure);
    else await put();
    states.push(store.isFull);
  }
  t.strictSame(states, [false, true, true, false]);
});
