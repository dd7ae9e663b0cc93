// Every block of commands that a page shows, with the test that runs it or the reason why none does. A test takes its block
// from here by name, so that what it runs is what people read; test/command-blocks.test.ts holds the table to the pages.

import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { blocks, pages, ROOT } from './readmes.ts';

export interface CommandBlock {
  readonly page: string;
  /** Words that no other block of the page has. */
  readonly has: string;
  /** The test that runs it. */
  readonly by?: string;
  /** Lines that are not run, or all of them when there is no test. */
  readonly not?: { readonly lines?: readonly string[]; readonly why: string };
}

const README = 'README.md';
const SERVICES = 'docs/services.md';
const EVENTS = 'docs/events.md';
const EVENTS_TEST = 'test/http/installer/events/event-routes.test.ts';
const FIRST_PLUGIN = 'docs/first-plugin.md';
const MIGRATING = 'docs/migrating.md';
const CONFIGURE = 'docs/configure.md';
const UPGRADING = 'config/deploy/UPGRADING.md';
const NEEDS_SYSTEMD =
  'systemd has to be process 1: test/binary/debian-package.test.ts installs, runs, upgrades and removes the package as they do';

export const COMMAND_BLOCKS = {
  newcomer: {
    page: README,
    has: 'npm ci && npm run demo',
    by: 'test/e2e/newcomer.test.ts',
    not: { lines: ['npm ci && npm test'], why: 'a suite cannot run itself; .ci/run begins with it' },
  },
  start: { page: README, has: 'npm start', by: 'test/e2e/readme.test.ts' },
  client: { page: README, has: 'longshore upload', by: 'test/e2e/readme.test.ts' },
  curl: { page: README, has: 'dataFile=@config', by: 'test/e2e/readme.test.ts' },
  resumable: {
    page: 'docs/resumable-uploads.md',
    has: 'upload-offset',
    by: 'test/http/installer/uploads/resumable-page.test.ts',
  },
  followEvents: { page: EVENTS, has: 'curl -N', by: EVENTS_TEST },
  pageOfEvents: { page: EVENTS, has: 'after=$LAST', by: EVENTS_TEST },
  webhooks: {
    page: 'docs/webhooks.md',
    has: '/webhooks',
    by: 'test/http/installer/webhooks/webhooks.test.ts',
  },
  idempotency: {
    page: 'docs/idempotency.md',
    has: 'Idempotency-Key',
    by: 'test/http/installer/uploads/idempotency-page.test.ts',
  },
  finding: {
    page: 'docs/finding-datasets.md',
    has: 'data-urlencode',
    by: 'test/http/installer/list-pages.test.ts',
  },
  digests: { page: 'docs/digests.md', has: 'sha256sum -c', by: 'test/e2e/digests.test.ts' },
  handler: { page: SERVICES, has: '/job/my-first', by: 'test/e2e/readme.test.ts' },
  report: { page: SERVICES, has: 'makeblastdb', by: 'test/stack/report-readme.test.ts' },
  access: { page: SERVICES, has: '/dataset-end-users', by: 'test/e2e/access.test.ts' },
  develop: {
    page: README,
    has: 'npm run check ',
    not: {
      why: 'each line is a suite of its own; .ci/run runs all of them, which test/command-blocks.test.ts sees to',
    },
  },
  service: { page: 'config/deploy/README.md', has: 'npm run build:deb', not: { why: NEEDS_SYSTEMD } },
  package: { page: UPGRADING, has: 'apt-get install', not: { why: NEEDS_SYSTEMD } },
  backup: { page: UPGRADING, has: 'pg_dump', by: 'test/binary/upgrading.test.ts' },
  restore: { page: UPGRADING, has: 'pg_restore', by: 'test/binary/upgrading.test.ts' },
  place: { page: FIRST_PLUGIN, has: 'npm start', by: 'test/stack/first-plugin.test.ts' },
  scripts: { page: FIRST_PLUGIN, has: "<<'END'", by: 'test/stack/first-plugin.test.ts' },
  byHand: { page: FIRST_PLUGIN, has: 'exit code $?', by: 'test/stack/first-plugin.test.ts' },
  checked: { page: FIRST_PLUGIN, has: 'config check', by: 'test/stack/first-plugin.test.ts' },
  firstInstall: { page: FIRST_PLUGIN, has: 'longshore upload', by: 'test/stack/first-plugin.test.ts' },
  schemas: { page: MIGRATING, has: 'migrate-target', by: 'test/stack/migrating.test.ts' },
  reached: { page: MIGRATING, has: 'longshore doctor', by: 'test/stack/migrating.test.ts' },
  compared: { page: MIGRATING, has: 'longshore reconcile', by: 'test/stack/migrating.test.ts' },
  initialized: { page: CONFIGURE, has: 'config init', by: 'test/stack/config-init.test.ts' },
  initialUpload: { page: CONFIGURE, has: 'longshore upload', by: 'test/stack/config-init.test.ts' },
  rebuild: { page: UPGRADING, has: "cascade'\nlongshore migrate", by: 'test/binary/upgrading.test.ts' },
} as const satisfies Record<string, CommandBlock>;

/** The block as it stands on its page. */
export function commandBlock(name: keyof typeof COMMAND_BLOCKS): string {
  const { page, has } = COMMAND_BLOCKS[name];
  const found = pages()
    .filter(({ file }) => file === page)
    .flatMap((one) => blocks(one, 'sh'))
    .filter((block) => block.includes(has));
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${page} has ${found.length} blocks with '${has}'`);
  return found[0];
}

/** Runs commands as a reader of the README does who has entered the alias of its first screen; in any folder. */
export async function runCommands(
  script: string,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const alias = `shopt -s expand_aliases\nalias longshore='${ROOT}/bin/longshore'\n`;
  const { stdout } = await promisify(execFile)('bash', ['-euc', `${alias}${script}`], {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...options.env },
  });
  return stdout;
}
