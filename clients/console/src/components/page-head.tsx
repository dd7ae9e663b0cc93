// What most pages begin with: a title, and what the page is for.

import type { ReactNode } from 'react';

interface Props {
  readonly title: string;
  readonly lead: string;
  /** Beside them. */
  readonly children?: ReactNode;
}

export function PageHead({ title, lead, children }: Props) {
  return (
    <div className="page-head">
      <div>
        <h1>{title}</h1>
        <p>{lead}</p>
      </div>
      {children}
    </div>
  );
}
