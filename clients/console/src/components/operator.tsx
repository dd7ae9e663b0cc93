// What the pages for operators share: that observers change nothing, and that their routes may be at another address.

import type { ComponentType, ReactNode } from 'react';
import { LongshoreError } from '../../../typescript/src/index.ts';
import { session } from '../api/session.ts';
import { useStore } from '../api/store.ts';
import { to, useRoute } from '../shell/route.ts';
import { texts } from '../texts.ts';
import { Empty, ProblemView } from './notices.tsx';
import { PageHead } from './page-head.tsx';

const words = texts.operate;

/** Only leaves out what the server would refuse. */
export const useMayChange = (): boolean => useStore(session)?.self.role === 'operator';

export function ReadOnly() {
  return useMayChange() ? null : <p className="hint read-only">{words.readOnly}</p>;
}

interface Props {
  readonly error: unknown;
  readonly onRetry: () => void;
}

/** For routes that always exist where the operators' routes are served. */
export function AdminProblem({ error, onRetry }: Props) {
  if (error instanceof LongshoreError && error.code === 404)
    return <Empty icon="problem" title={words.elsewhere} advice={words.elsewhereAdvice} />;
  return <ProblemView error={error} onRetry={onRetry} />;
}

type Asked = Readonly<Record<string, string>>;

interface ViewsProps<View extends string> {
  /** Its address. */
  readonly page: string;
  readonly words: {
    readonly title: string;
    readonly lead: string;
    readonly views: string;
    readonly viewNames: Readonly<Record<View, string>>;
  };
  /** The first is shown when the address names none. */
  readonly views: readonly [OneView<View>, ...OneView<View>[]];
  /** What is above the view. */
  readonly children: (view: View, asked: Asked) => ReactNode;
}

type OneView<View> = readonly [View, ComponentType<{ readonly asked: Asked }>];

/** A page of several views, each with its address and what it is asked for. */
export function Views<View extends string>({ page, words, views, children }: ViewsProps<View>) {
  const { parts, query } = useRoute();
  const [view, Shown] = views.find(([name]) => name === parts[0]) ?? views[0];
  const asked = Object.fromEntries(query);
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <ul className="tabs" aria-label={words.views}>
        {views.map(([name]) => (
          <li key={name}>
            <a href={to(`${page}/${name}`)} aria-current={name === view ? 'true' : undefined}>
              {words.viewNames[name]}
            </a>
          </li>
        ))}
      </ul>
      {children(view, asked)}
      <Shown asked={asked} />
    </>
  );
}
