// What is dear to make (a million rows, a large search) and used by all rows of a measure: made when the first asks.

export interface OpenedOnce<T> {
  get(): Promise<T>;
  /** Ends it, if it was made. */
  close(): Promise<void>;
}

export function openedOnce<T extends AsyncDisposable>(open: () => Promise<T>): OpenedOnce<T> {
  let opened: Promise<T> | undefined;
  return {
    get() {
      opened ??= open();
      return opened;
    },
    async close() {
      const one = await opened;
      await one?.[Symbol.asyncDispose]();
    },
  };
}
