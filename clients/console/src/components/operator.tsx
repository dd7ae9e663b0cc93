// What the pages for operators share: that observers change nothing, and that their routes may be at another address.

import { LongshoreError } from '../../../typescript/src/index.ts';
import { session } from '../api/session.ts';
import { useStore } from '../api/store.ts';
import { texts } from '../texts.ts';
import { Empty, ProblemView } from './notices.tsx';

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

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly title: string; readonly href: string; readonly isCurrent: boolean }[];
}

/** Views of one page, each with its address. */
export function Tabs({ label, tabs }: TabsProps) {
  return (
    <ul className="tabs" aria-label={label}>
      {tabs.map(({ title, href, isCurrent }) => (
        <li key={href}>
          <a href={href} aria-current={isCurrent ? 'true' : undefined}>
            {title}
          </a>
        </li>
      ))}
    </ul>
  );
}
