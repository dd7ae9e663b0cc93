// What a page shows instead of its data: that they load, that there are none, or that they could not be loaded.

import type { ReactNode } from 'react';
import { LongshoreError } from '../../../typescript/src/index.ts';
import { SignInError } from '../api/session.ts';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icons.tsx';

export function Loading() {
  return (
    <div className="loading" role="status">
      <span className="hidden-text">{texts.shell.loading}</span>
      <span className="spinner" />
    </div>
  );
}

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  /** What to do next. */
  readonly advice: string;
  readonly children?: ReactNode;
}

export function Empty({ icon, title, advice, children }: EmptyProps) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{advice}</p>
      {children}
    </div>
  );
}

/** What the page itself refuses, in the words for the person. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** An error in words. */
export function wordsOf(error: unknown): { readonly text: string; readonly requestId?: string } {
  if (error instanceof LongshoreError)
    return { text: error.message, ...(error.requestId === undefined ? {} : { requestId: error.requestId }) };
  if (error instanceof SignInError)
    return { text: error.isAway ? texts.problem.issuerAway : texts.problem.signIn(error.message) };
  if (error instanceof Refusal) return { text: error.message };
  return { text: error instanceof TypeError ? texts.problem.unreachable : texts.problem.unexpected };
}

export function ProblemView({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const { text, requestId } = wordsOf(error);
  const fields = error instanceof LongshoreError ? Object.entries(error.problem?.errors?.byKey ?? {}) : [];
  return (
    <div className="problem" role="alert">
      <Icon name="problem" />
      <div>
        <h2>{texts.problem.heading}</h2>
        <p>{text}</p>
        {fields.length > 0 && (
          <>
            <p>{texts.problem.fields}</p>
            <ul>
              {fields.map(([field, faults]) => (
                <li key={field}>
                  <code>{field}</code> {faults.join(' ')}
                </li>
              ))}
            </ul>
          </>
        )}
        {requestId !== undefined && <p className="hint">{texts.problem.request(requestId)}</p>}
        {onRetry && (
          <Button icon="refresh" onPress={onRetry}>
            {texts.problem.retry}
          </Button>
        )}
      </div>
    </div>
  );
}
