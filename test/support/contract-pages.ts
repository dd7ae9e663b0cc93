// The pages of docs/contract: the rows of test/contract as tables, a page for each service and a section for each group of rows.

import { SERVICES, type Service, TABLES } from '../contract/tables.ts';

interface Page {
  readonly title: string;
  readonly about: string;
  /** By group of rows, in the order of the page. Two groups may have one heading. */
  readonly headings: Readonly<Record<string, string>>;
}

const PAGES: Readonly<Record<Service, Page>> = {
  installer: {
    title: 'Installer',
    about: 'Uploads, edits, revisions, shares and deletions of datasets, and the reports for administrators.',
    headings: {
      types: 'Shared types',
      details: 'Dataset metadata',
      conditions: 'Conditional requirements',
      parts: 'Multipart parts',
      listing: 'Dataset listing',
      status: 'Status block',
      dataset: 'Dataset details',
      revision: 'Revisions and edits',
      files: 'File listing',
      offer: 'Share offers',
      plugin: 'Plugins',
      endpoints: 'Endpoints',
      codes: 'Status codes',
      admin: 'Administrator records',
      ours: 'Calls beyond the contract',
      lifecycle: 'Lifecycle',
      authentication: 'Authentication',
      errors: 'Errors',
      limits: 'Limits',
      versions: 'Versions 1.7.0 and 1.8.0',
    },
  },
  handler: {
    title: 'Handler jobs',
    about: 'Packaged datasets that configured commands are run on.',
    headings: {
      options: 'Options',
      health: 'Health',
      metadata: 'Job metadata',
      status: 'Job status',
      states: 'States of a job',
      endpoints: 'Endpoints',
      codes: 'Status codes',
      '400': 'What is answered 400',
      errors: 'Errors',
      headers: 'Headers',
      limits: 'Limits',
      template: 'Templates of arguments',
      commands: 'Commands',
      result: 'Results',
      metrics: 'Metrics',
      configuration: 'Configuration',
    },
  },
  report: {
    title: 'Reports',
    about: 'Alignment reports of earlier searches.',
    headings: {
      types: 'Job id',
      'user meta': 'User meta',
      'blast config': 'Blast config',
      'create request': 'Requests and answers',
      'create response': 'Requests and answers',
      'list entry': 'Requests and answers',
      'job details': 'Requests and answers',
      'patch request': 'Requests and answers',
      'file entry': 'Requests and answers',
      states: 'States of a job',
      endpoints: 'Endpoints',
      codes: 'Status codes',
      authentication: 'Authentication',
      errors: 'Errors',
      limits: 'Limits',
      decisions: 'Decisions',
    },
  },
  access: {
    title: 'Dataset access',
    about: 'Who may use which curated dataset: staff, providers, requests, permissions, history.',
    headings: {
      types: 'Shared types',
      'staff entry': 'Staff',
      'new staff': 'Staff',
      'new staff answer': 'Staff',
      'provider entry': 'Providers',
      'new provider': 'Providers',
      'new provider answer': 'Providers',
      'end user': 'End users',
      'new end user': 'End users',
      'new end user answer': 'End users',
      'end user id': 'End users',
      'patch item': 'Patches',
      patch: 'Patches',
      permissions: 'Permissions',
      'permission entry': 'Permissions',
      'study permission': 'Permissions',
      history: 'History',
      health: 'Health',
      endpoints: 'Endpoints',
      creation: 'Creation',
      states: 'States of a request',
      authentication: 'Authentication',
      roles: 'Roles',
      errors: 'Errors',
      limits: 'Limits',
    },
  },
};

/** By path from the root of the project. */
export function contractPages(): ReadonlyMap<string, string> {
  return new Map(SERVICES.map((service) => [`docs/contract/${service}.md`, pageOf(service)]));
}

function pageOf(service: Service): string {
  const { title, about, headings } = PAGES[service];
  const sections = new Map<string, string[]>(Object.values(headings).map((heading) => [heading, []]));
  for (const [id, rule] of Object.entries(TABLES[service])) {
    const name = service === 'installer' ? id : id.slice(service.length + 1);
    const group = name.split('/', 1)[0] ?? '';
    const lines = sections.get(headings[group] ?? '');
    if (!lines) throw new Error(`the row '${id}' has no heading in test/support/contract-pages.ts`);
    lines.push(line(headings, group, name.slice(group.length + 1), rule));
  }
  const tables = [...sections].map(
    ([heading, lines]) => `## ${heading}\n\n| what | rule |\n| --- | --- |\n${lines.join('\n')}\n`,
  );
  return `# ${title}\n\n${about} How to read this: [README](README.md).\n\n${tables.join('\n')}`;
}

/** Where several groups have one heading, each row names its own. */
function line(headings: Readonly<Record<string, string>>, group: string, name: string, rule: string): string {
  const isShared = Object.values(headings).filter((heading) => heading === headings[group]).length > 1;
  const what = isShared ? [group, name].filter((part) => part !== '').join(', ') : name || group;
  return `| ${cell(what)} | ${cell(rule)} |`;
}

/** What would end the cell, or be read as markup. */
const cell = (text: string): string => text.replaceAll(/[\\|<>*_`]/g, '\\$&');
