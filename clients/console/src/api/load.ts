// Data of a page: loaded when it is shown, when what it depends on changes, and when the server is back after it was away.

import { useCallback, useEffect, useRef, useState } from 'react';
import { connections } from './reachability.ts';
import { useStore } from './store.ts';

export interface Loaded<Value> {
  /** The last one that was loaded; kept while it is loaded again. */
  readonly value: Value | undefined;
  /** Why the last attempt failed. */
  readonly error: unknown;
  readonly isLoading: boolean;
  reload(): void;
}

/** @param key what the data depend on, as text; a change loads them anew */
export function useLoad<Value>(key: string, load: (signal: AbortSignal) => Promise<Value>): Loaded<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: unknown; isLoading: boolean }>({
    key,
    isLoading: true,
  });
  const [asked, setAsked] = useState(0);
  const connection = useStore(connections);
  const latest = useRef(load);
  latest.current = load;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the last two only start it again
  useEffect(() => {
    const leaving = new AbortController();
    setState((before) => (before.key === key ? { ...before, isLoading: true } : { key, isLoading: true }));
    latest.current(leaving.signal).then(
      (value) => leaving.signal.aborted || setState({ key, value, isLoading: false }),
      (error: unknown) => leaving.signal.aborted || setState((before) => ({ ...before, key, error, isLoading: false })),
    );
    return () => leaving.abort();
  }, [key, asked, connection]);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload,
  };
}
