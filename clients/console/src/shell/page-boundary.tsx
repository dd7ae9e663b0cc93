// A page that throws is replaced by what went wrong; the frame around it stays.

import { Component, type ReactNode } from 'react';
import { ProblemView } from '../components/notices.tsx';

interface Props {
  readonly children: ReactNode;
}

export class PageBoundary extends Component<Props, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {};

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    // Reloads the page, because its script may be that of an older version of the server.
    return <ProblemView error={this.state.error} onRetry={() => location.reload()} />;
  }
}
