// Whether the server can be reached. While it cannot, we probe it with growing pauses; what was loading is loaded again once it
// answers. All requests of the console go through `reachingFetch`, but those of resumable uploads, which tell when they fail.

import { Store } from './store.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export const reachable = new Store(true);
/** Grows each time the server is back. */
export const connections = new Store(0);

/** How soon a page that asks nothing finds out. */
const BEAT_MS = 20_000;

let probeUrl = '';
let retrying: ((now: boolean) => void) | undefined;

/** @param url of a cheap request that succeeds while the service works */
export const probeAt = (url: string): void => {
  probeUrl = url;
};

export const reachingFetch: typeof fetch = async (request, options) => {
  try {
    return await fetch(request, options);
  } catch (error) {
    // A request that the page itself gave up says nothing about the server.
    if (!(error instanceof DOMException && error.name === 'AbortError')) lost();
    throw error;
  }
};

/** Asks now and then while the person looks at the page. */
export function watchServer(): void {
  setInterval(() => {
    if (reachable.value && document.visibilityState === 'visible')
      void reachingFetch(probeUrl, { cache: 'no-store' }).catch(() => undefined);
  }, BEAT_MS);
}

/** Does not wait for the rest of the pause. */
export const tryNow = (): void => retrying?.(true);

/** For requests that something else sends. */
export function lost(): void {
  if (!reachable.value) return;
  reachable.set(false);
  void probe();
}

async function probe(): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    // Half of the pause is by chance, so that not all pages come back at the same moment.
    await pause(pauseMs / 2 + Math.random() * (pauseMs / 2));
    const answer = await fetch(probeUrl, { cache: 'no-store' }).catch(() => undefined);
    if (answer?.ok) break;
  }
  reachable.set(true);
  connections.set(connections.value + 1);
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      retrying = undefined;
      resolve();
    };
    const timer = setTimeout(end, ms);
    retrying = end;
  });
