// A time in words. The exact one is shown on hover and focus, and read by screen readers.

import { useEffect, useState } from 'react';
import { exactly, inWords } from './format.ts';

const REFRESH_MS = 30_000;

export function Time({ at }: { readonly at: string }) {
  const now = useNow();
  const date = new Date(at);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the exact time appears on focus
    <time className="time" dateTime={at} tabIndex={0} data-exact={exactly(date)}>
      {inWords(date, now)}
      <span className="hidden-text">, {exactly(date)}</span>
    </time>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}
