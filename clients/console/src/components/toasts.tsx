// Short messages above the page. A failure stays until it is dismissed, and names the request for administrators.

import { Store, useStore } from '../api/store.ts';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { wordsOf } from './notices.tsx';

interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'problem';
  readonly text: string;
  readonly requestId?: string;
}

const SHOWN_MS = 6_000;
const MOST = 4;
const toasts = new Store<readonly Toast[]>([]);
let last = 0;

function show(toast: Omit<Toast, 'id'>): number {
  last += 1;
  toasts.set([...toasts.value, { ...toast, id: last }].slice(-MOST));
  return last;
}

const dismiss = (id: number): void => toasts.set(toasts.value.filter((one) => one.id !== id));

export function tellDone(text: string): void {
  const id = show({ kind: 'done', text });
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** @param what failed, if the error alone does not tell */
export function tellProblem(error: unknown, what?: string): void {
  const { text, requestId } = wordsOf(error);
  show({
    kind: 'problem',
    text: what === undefined ? text : `${what}: ${text}`,
    ...(requestId === undefined ? {} : { requestId }),
  });
}

export function Toasts() {
  const shown = useStore(toasts);
  return (
    <section className="toasts" aria-label={texts.shell.notifications} aria-live="polite">
      {shown.map(({ id, kind, text, requestId }) => (
        <div key={id} className={`toast ${kind}`}>
          <Icon name={kind === 'done' ? 'done' : 'problem'} />
          <div>
            <p>{text}</p>
            {requestId !== undefined && <p className="hint">{texts.problem.request(requestId)}</p>}
          </div>
          <Button icon="close" iconOnly onPress={() => dismiss(id)}>
            {texts.shell.dismiss}
          </Button>
        </div>
      ))}
    </section>
  );
}
