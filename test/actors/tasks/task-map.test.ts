import type { Readable } from 'node:stream';
import t from 'tap';
import { streamed, type TaskContext } from '../../../actors/tasks/task-map.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';

const signal = new AbortController().signal;
const FILE = { key: '7/D/raw/a.txt', name: 'a.txt', size: 5, etag: 'fake-1' };

/** A store with that content under the key of the file; none when undefined. `opened` has the bodies it gave away. */
async function world(content: string | undefined, earlier: readonly string[] = []) {
  const store = new FakeObjectStore();
  for (const before of earlier) await store.put(FILE.key, Buffer.from(before), {}, signal);
  if (content !== undefined) await store.put(FILE.key, Buffer.from(content), {}, signal);
  const opened: Readable[] = [];
  const watched: TaskContext['store'] = {
    head: store.head.bind(store),
    list: store.list.bind(store),
    get: async (...asked) => {
      const found = await store.get(...asked);
      if (found) opened.push(found.body);
      return found;
    },
  };
  return { file: streamed(FILE, { store: watched }), opened };
}

t.test('a plugin gets the object under the name and with the size that it was listed with', async (t) => {
  const { file } = await world('genes');
  t.match(file, { name: 'a.txt', size: 5 });
  const chunks = await (await file.open(signal)).toArray();
  t.equal(Buffer.concat(chunks).toString(), 'genes');
});

t.test('an object of the same size that replaced the listed one is a failure that passes', async (t) => {
  const { file, opened } = await world('GENES', ['genes']);
  await t.rejects(file.open(signal), { kind: 'transient', message: `object ${FILE.key} changed while it was read` });
  t.strictSame(
    opened.map((body) => body.destroyed),
    [true],
  );
});

t.test('an object that changed its size or went since it was listed is a failure that passes', async (t) => {
  for (const content of ['gene', 'genes!', '', undefined]) {
    const { file, opened } = await world(content);
    await t.rejects(file.open(signal), {
      kind: 'transient',
      message: `object ${FILE.key} changed while it was read`,
    });
    t.strictSame(
      opened.map((body) => body.destroyed),
      content === undefined ? [] : [true],
      'no connection to the store is left open',
    );
  }
});
