// What concerns all pages: the server cannot be reached, or the sign-in ends. The banners go away by themselves.

import { useEffect, useRef, useState } from 'react';
import { reachable, tryNow } from '../api/reachability.ts';
import { ending } from '../api/session.ts';
import { useStore } from '../api/store.ts';
import { Button } from '../components/button.tsx';
import { texts } from '../texts.ts';

export function Banners() {
  const isReachable = useStore(reachable);
  const ends = useStore(ending);
  const said = useSaid(isReachable);
  return (
    <div role="status" className="banners">
      {!isReachable && (
        <div className="banner">
          <span className="spinner" />
          {texts.shell.unreachable}
          <Button onPress={tryNow}>{texts.shell.tryNow}</Button>
        </div>
      )}
      {ends && <div className="banner">{ends === 'soon' ? texts.shell.endsSoon : texts.shell.ended}</div>}
      <span className="hidden-text">{said}</span>
    </div>
  );
}

/** Tells screen readers that the server is back. */
function useSaid(isReachable: boolean): string {
  const wasAway = useRef(false);
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (wasAway.current && isReachable) setSaid(texts.shell.reachable);
    if (!isReachable) setSaid('');
    wasAway.current = !isReachable;
  }, [isReachable]);
  return said;
}
