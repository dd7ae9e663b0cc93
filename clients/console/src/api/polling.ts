// Data that change by themselves: loaded again while the page is visible. After failures the pauses grow.

import { useEffect, useRef, useSyncExternalStore } from 'react';
import { type Loaded, useLoad } from './load.ts';

const LONGEST_PAUSE_MS = 60_000;

/** As `useLoad`, again `everyMs` after each answer. */
export function usePolled<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  everyMs: number,
): Loaded<Value> {
  const loaded = useLoad(key, load);
  const { isLoading, error, reload } = loaded;
  const isVisible = useVisible();
  const state = useRef({ failures: 0, wasHidden: false });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer starts the next pause, not its error
  useEffect(() => {
    const now = state.current;
    if (!isVisible) now.wasHidden = true;
    if (isLoading || !isVisible) return;
    now.failures = error === undefined ? 0 : now.failures + 1;
    const pauseMs = now.wasHidden ? 0 : Math.min(everyMs * 2 ** now.failures, LONGEST_PAUSE_MS);
    now.wasHidden = false;
    const timer = setTimeout(reload, pauseMs);
    return () => clearTimeout(timer);
  }, [isLoading, isVisible, everyMs, reload]);
  return loaded;
}

const useVisible = (): boolean =>
  useSyncExternalStore(
    (changed) => {
      document.addEventListener('visibilitychange', changed);
      return () => document.removeEventListener('visibilitychange', changed);
    },
    () => document.visibilityState === 'visible',
  );
