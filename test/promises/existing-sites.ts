// What sites and their operators need: proxies, documents, daemons, health, and a way from one installer to the other.

import type { PromiseRow } from '../promises.ts';

export const EXISTING_SITES: readonly PromiseRow[] = [
  {
    id: 'base-paths',
    promise: 'Each front end is published under a path of its own, which begins every address that it gives out.',
    heldBy: [
      {
        file: 'test/bin/compose/base-paths.test.ts',
        test: 'each front end leads callers to its own path, and is found with it and without',
      },
      {
        file: 'test/stack/proxy.test.ts',
        test: 'nginx publishes each front end under its path, and adds the version',
      },
      {
        file: 'test/stack/proxy.test.ts',
        test: 'Caddy publishes each front end under its path, and adds the version',
      },
    ],
  },
  {
    id: 'upload-errors-name',
    promise: 'The reason of a failed upload is found as upload-errors.json, too.',
    heldBy: [
      {
        file: 'test/http/installer/files/stored-documents.test.ts',
        test: 'the reason of a failed upload is shown, without any stack trace',
      },
    ],
  },
  {
    id: 'prune-by-date',
    promise: 'A prune takes an age or a date.',
    heldBy: [
      {
        file: 'test/http/installer/admin-daemons.test.ts',
        test: 'pruning takes a date, too: what was deleted before it goes',
      },
    ],
  },
  {
    id: 'one-health',
    promise: 'A plugin that nobody serves, a lane or a daemon that is down makes health degraded, by name.',
    heldBy: [
      {
        file: 'test/bin/compose/health-checks.test.ts',
        test: 'a plugin that nobody serves makes it degraded, without naming its address',
      },
      {
        file: 'test/bin/compose/health-checks.test.ts',
        test: 'a lane or a daemon that is down makes it degraded, by its name',
      },
    ],
  },
  {
    id: 'shared-data-schema',
    promise:
      'Targets with one data schema have the rows of a dataset once while any of them has it, and none afterwards.',
    heldBy: [
      {
        file: 'test/e2e/shared-data.test.ts',
        test: '… targets: rows are there once while any target has the dataset, and none afterwards',
      },
      {
        file: 'test/e2e/shared-data.test.ts',
        test: 'three kills in a row, and one in the middle of what follows: rows are there once, and none afterwards',
      },
      { file: 'test/e2e/shared-data.test.ts', test: 'three kills of a deletion in a row leave nothing' },
      {
        file: 'test/actors/shared-data-postgres.test.ts',
        test: 'three processes install, install again and delete datasets on both targets: no row is written twice',
      },
    ],
  },
  {
    id: 'targets-on-mariadb',
    promise: 'A site on MariaDB reads the same rows as one on PostgreSQL, at each step of the life of a dataset.',
    heldBy: [
      { file: 'test/stack/mixed-targets.test.ts', test: 'after each step of its life, both sites have the same rows' },
      { file: 'test/conformance/control-schema.ts', test: 'writes every part of the metadata in its order' },
      {
        file: 'test/conformance/site-grants.ts',
        test: 'a dataset is shown while a grant is in force, and the dataset is not private',
      },
    ],
  },
  {
    id: 'ids-of-others',
    promise: 'Ids that another installer gave stay, dots included, and such a dataset can be opened and installed.',
    heldBy: [
      {
        file: 'test/stack/migrating.test.ts',
        test: 'the datasets of the bucket are installed on the site, from what was imported before',
      },
      {
        file: 'test/engine/model/ids.test.ts',
        test: 'a dataset id has letters, digits, _, - and dots, and does not begin with a dot',
      },
    ],
  },
  {
    id: 'datasets-of-the-bucket',
    promise: 'The datasets of an existing bucket are installed without a new import, beside the old installation.',
    heldBy: [
      {
        file: 'test/stack/migrating.test.ts',
        test: 'the datasets of the bucket are installed on the site, from what was imported before',
      },
      {
        file: 'test/stack/migrating.test.ts',
        test: 'the old installation can go back to schemas and files that are as it left them',
      },
    ],
  },
  {
    id: 'foreign-keys-of-data',
    promise: 'Foreign keys of data tables may lead to the control schema.',
    heldBy: [
      {
        file: 'test/stack/migrating.test.ts',
        test: 'foreign keys that lead to an old control schema are found, and made to lead to ours',
      },
      {
        file: 'test/stack/migrating.test.ts',
        test: 'a dataset goes through as a deployed front end sends it, and leaves nothing',
      },
    ],
  },
];
