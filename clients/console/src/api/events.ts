// What happens to the caller's datasets, as it happens.

import { useEffect, useRef } from 'react';
import { type DatasetEvent, datasetEvents } from '../../../typescript/src/index.ts';
import { installer } from './session.ts';

/**
 * Follows the events while the component is shown. The stream connects again by itself and continues after the last event.
 * @param seen called with each event, and with undefined when events were missed: look at everything again
 */
export function useDatasetEvents(seen: (event: DatasetEvent | undefined) => void): void {
  const latest = useRef(seen);
  latest.current = seen;
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const follow = async (): Promise<void> => {
      for await (const event of datasetEvents(installer, { signal, onGap: () => latest.current(undefined) }))
        latest.current(event);
    };
    // Ends when the page is left, or when the session has ended, which the shell shows.
    follow().catch(() => undefined);
    return () => leaving.abort();
  }, []);
}

/** Calls at once, then at most once in `ms`, however often it is asked. */
export function useThrottled(call: () => void, ms = 1_500): () => void {
  const latest = useRef(call);
  latest.current = call;
  const state = useRef<{ timer?: ReturnType<typeof setTimeout> | undefined; again: boolean }>({ again: false });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  const run = useRef(() => {
    const now = state.current;
    if (now.timer !== undefined) {
      now.again = true;
      return;
    }
    latest.current();
    now.timer = setTimeout(() => {
      now.timer = undefined;
      if (!now.again) return;
      now.again = false;
      run.current();
    }, ms);
  });
  return run.current;
}
