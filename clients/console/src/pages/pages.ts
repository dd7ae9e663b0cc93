// The pages, in the order of the navigation. Each is a folder beside this file, and loaded when it is first shown.

import type { ComponentType } from 'react';
import type { IconName } from '../components/icons.tsx';
import { texts } from '../texts.ts';

export interface Page {
  /** The address: `#/path`, with what the page adds after a slash. */
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  readonly group: keyof typeof texts.shell.groups;
  /** Shown to operators and observers only; the server checks each request. */
  readonly forOperators?: true;
  /** Not in the navigation: other pages lead to it. */
  readonly isHidden?: true;
  /** Of a hidden page: the page that the navigation shows as the current one. */
  readonly within?: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

export const pages: readonly Page[] = [
  {
    path: 'datasets',
    title: texts.datasets.title,
    icon: 'datasets',
    group: 'work',
    load: () => import('./datasets/page.tsx'),
  },
  {
    path: 'upload',
    title: texts.upload.title,
    icon: 'upload',
    group: 'work',
    load: () => import('./upload/page.tsx'),
  },
  {
    path: 'dataset',
    title: texts.dataset.title,
    icon: 'datasets',
    group: 'work',
    isHidden: true,
    within: 'datasets',
    load: () => import('./dataset/page.tsx'),
  },
  {
    path: 'access',
    title: texts.access.title,
    icon: 'access',
    group: 'work',
    load: () => import('./access/page.tsx'),
  },
  {
    path: 'reports',
    title: texts.reports.title,
    icon: 'report',
    group: 'work',
    load: () => import('./reports/page.tsx'),
  },
  {
    path: 'problems',
    title: texts.problems.title,
    icon: 'problem',
    group: 'operate',
    forOperators: true,
    load: () => import('./problems/page.tsx'),
  },
  {
    path: 'lanes',
    title: texts.lanes.title,
    icon: 'lanes',
    group: 'operate',
    forOperators: true,
    load: () => import('./lanes/page.tsx'),
  },
  {
    path: 'plots',
    title: texts.plots.title,
    icon: 'plots',
    group: 'operate',
    forOperators: true,
    load: () => import('./plots/page.tsx'),
  },
  {
    path: 'configuration',
    title: texts.configuration.title,
    icon: 'configuration',
    group: 'operate',
    forOperators: true,
    load: () => import('./configuration/page.tsx'),
  },
  {
    path: 'audit',
    title: texts.audit.short,
    icon: 'audit',
    group: 'operate',
    forOperators: true,
    load: () => import('./audit/page.tsx'),
  },
];
