// Watches whether an object store has room. Only writes show it: nobody can ask a bucket for its free space.
//   has room  --a put fails for lack of room-->  full  --a put succeeds-->  has room

import type { ObjectStore } from '../../ports/object-store.ts';
import { hasNoRoom } from '../../runtime/failure.ts';

export class RoomWatch implements ObjectStore {
  readonly #store: ObjectStore;
  readonly localFile?: NonNullable<ObjectStore['localFile']>;
  isFull = false;

  constructor(store: ObjectStore) {
    this.#store = store;
    const { localFile } = store;
    if (localFile) this.localFile = (key) => localFile.call(store, key);
  }

  put: ObjectStore['put'] = (...args) => this.#watched(this.#store.put(...args));
  putAll: ObjectStore['putAll'] = (...args) => this.#watched(this.#store.putAll(...args));
  get: ObjectStore['get'] = (...args) => this.#store.get(...args);
  head: ObjectStore['head'] = (...args) => this.#store.head(...args);
  list: ObjectStore['list'] = (...args) => this.#store.list(...args);
  pages: ObjectStore['pages'] = (...args) => this.#store.pages(...args);
  remove: ObjectStore['remove'] = (...args) => this.#store.remove(...args);
  discard: ObjectStore['discard'] = (...args) => this.#store.discard(...args);
  probe: ObjectStore['probe'] = (...args) => this.#store.probe(...args);

  async #watched<Stored>(put: Promise<Stored>): Promise<Stored> {
    try {
      const stored = await put;
      this.isFull = false;
      return stored;
    } catch (error) {
      if (hasNoRoom(error)) this.isFull = true;
      throw error;
    }
  }
}
