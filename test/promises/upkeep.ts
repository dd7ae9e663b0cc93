// What an operator or administrator does to a running installation, and what it works with.

import type { PromiseRow } from '../promises.ts';

export const UPKEEP: readonly PromiseRow[] = [
  {
    id: 'retry-and-clear',
    promise: 'Administrators can retry dead jobs and failed installs.',
    heldBy: [
      {
        file: 'test/actors/job-retry.test.ts',
        test: 'a dead import that is retried runs again, and the dataset is installed',
      },
      {
        file: 'test/actors/daemons/clear-failed.test.ts',
        test: 'data that could not be installed are installed again',
      },
      {
        file: 'test/e2e/api-clear-failed.test.ts',
        test: 'an install that failed for a reason of the site is made good',
      },
    ],
  },
  {
    id: 'second-chance',
    promise: 'Whatever failed for good is listed by cause, and is retried or discarded by query; nothing else moves.',
    heldBy: [
      {
        file: 'test/e2e/problems.test.ts',
        test: '500 dead imports of three causes: one cause is retried, one discarded, and nothing else moves',
      },
      {
        file: 'test/conformance/problems.ts',
        test: 'a retry queues the job as if it had never run, opens its status, and moves nothing else',
      },
      {
        file: 'test/conformance/problems.ts',
        test: 'what is discarded is not listed, and not requested again by those who repeat their requests',
      },
    ],
  },
  {
    id: 'owner-retry',
    promise: 'An owner can have a step that failed through no fault of theirs repeated once.',
    heldBy: [
      {
        file: 'test/conformance/problems.ts',
        test: 'an owner has a failed step repeated once, until an administrator retries it',
      },
      { file: 'test/http/installer/retry.test.ts', test: 'nothing else is repeated, and the answer says what helps' },
    ],
  },
  {
    id: 'pause',
    promise: 'A pause survives a kill -9, delays nobody else, and loses nothing that waits for it.',
    heldBy: [
      {
        file: 'test/e2e/pause-and-cancel.test.ts',
        test: 'a paused plugin stays paused over a kill -9, keeps nobody waiting, and goes on in order when it is resumed',
      },
      {
        file: 'test/actors/pauses/paused-work.test.ts',
        test: 'a paused lane finishes what runs and begins nothing; resumed, it goes on in order',
      },
      {
        file: 'test/actors/pauses/paused-work.test.ts',
        test: 'a paused target gets no data, and the others do; resumed, it gets them at once',
      },
    ],
  },
  {
    id: 'cancel',
    promise: 'A cancelled job is dead until it is retried by hand.',
    heldBy: [
      {
        file: 'test/e2e/pause-and-cancel.test.ts',
        test: 'a cancelled import is dead until it is retried, and its owner reads that an operator stopped it',
      },
      {
        file: 'test/actors/jobs/cancellations.test.ts',
        test: 'it runs again only when it is retried by hand',
      },
      {
        file: 'test/conformance/job-cancels.ts',
        test: 'the process that runs the job hears of the order, and no other',
      },
    ],
  },
  {
    id: 'purge',
    promise: 'A purge removes one dataset everywhere, and no other.',
    heldBy: [
      {
        file: 'test/http/installer/admin-purge-dataset.test.ts',
        test: 'a dataset goes from its sites, the store and the cache, and no other',
      },
      {
        file: 'test/http/installer/admin-purge-dataset.test.ts',
        test: 'a removal that was given up is taken up again',
      },
    ],
  },
  {
    id: 'brake-released',
    promise: 'Deletes that the brake held back happen only on the order of an administrator.',
    heldBy: [
      { file: 'test/actors/daemons/daemons.test.ts', test: 'an order may release the brake' },
      {
        file: 'test/actors/daemons/daemons.test.ts',
        test: 'no order deletes where deletes are forbidden, or where another installation shares the targets',
      },
      {
        file: 'test/bin/cli/daemons.test.ts',
        test: 'deletes that were held back make it fail, and say how to let them go',
      },
    ],
  },
  {
    id: 'expiry',
    promise: 'Results of handler jobs and files of reports are removed when their time is over, and not before.',
    heldBy: [
      {
        file: 'test/actors/handler/status.test.ts',
        test: 'uploads that never came, results and records go when their time is over',
      },
      {
        file: 'test/http/report/expiry.test.ts',
        test: 'a job expires so long after the last access, with its files, and keeps its configuration',
      },
    ],
  },
  {
    id: 'migrations',
    promise: 'A migration is applied once and whole, and a database newer than the program is refused.',
    heldBy: [
      {
        file: 'test/engine/adapters/migrations/migrations.test.ts',
        test: 'two processes that start at once apply each migration once',
      },
      {
        file: 'test/engine/adapters/migrations/migrations.test.ts',
        test: 'a migration that fails leaves nothing of itself',
      },
      {
        file: 'test/engine/adapters/migrations/migrations.test.ts',
        test: 'a database newer than the program is refused',
      },
    ],
  },
  {
    id: 'backup-instant',
    promise: 'A backup that is made under load is the state of one instant, and comes back as such.',
    heldBy: [
      {
        file: 'test/e2e/backup.test.ts',
        test: 'a backup under load, a lost data directory, a restore: the state of one instant',
      },
      {
        file: 'test/e2e/backup-serve.test.ts',
        test: 'a backup of serve under load, everything lost, a restore: the state of one instant',
      },
      {
        file: 'test/engine/adapters/directory/write-hold.test.ts',
        test: 'while it is held, objects are read, and every change waits until it is released',
      },
    ],
  },
  {
    id: 'backup-killed',
    promise: 'A backup that is killed, or whose server is, holds up nobody and leaves nothing.',
    heldBy: [
      {
        file: 'test/e2e/backup.test.ts',
        test: 'a backup that is killed, and one whose server is killed, hold up nobody and leave nothing',
      },
      { file: 'test/bin/cli/backup/quiet-server.test.ts', test: 'the pauses of a backup that died end by themselves' },
    ],
  },
  {
    id: 'restore-killed',
    promise: 'No process starts on databases that a restore has not filled completely.',
    heldBy: [
      {
        file: 'test/e2e/backup-serve.test.ts',
        test: 'whatever kills a backup or a restore of serve, nothing that is left looks whole',
      },
    ],
  },
  {
    id: 'backup-damaged',
    promise: 'A damaged or incomplete backup is refused, and nothing is changed then.',
    heldBy: [
      {
        file: 'test/bin/cli/backup/backup-file.test.ts',
        test: 'a backup is found damaged wherever a byte of it is changed, or it ends',
      },
      {
        file: 'test/e2e/backup.test.ts',
        test: 'a backup that is killed, and one whose server is killed, hold up nobody and leave nothing',
      },
    ],
  },
  {
    id: 'support-bundle',
    promise: 'A support bundle has no secret, whatever it collects.',
    heldBy: [
      {
        file: 'test/bin/cli/support-bundle/support-bundle.test.ts',
        test: 'no secret of a configuration is in a bundle, wherever it was logged, and while nothing runs',
      },
    ],
  },
  {
    id: 'backup',
    promise: 'A backup made and restored as described brings everything back.',
    heldBy: [
      { file: 'test/binary/upgrading.test.ts', test: 'a backup is taken, restored, and a lost cache is built anew' },
    ],
  },
  {
    id: 'package',
    promise: 'The Debian package can be installed, run, upgraded, removed and purged.',
    heldBy: [
      {
        file: 'test/binary/debian-package.test.ts',
        test: 'the package is installed, run, upgraded, removed and purged',
      },
      { file: 'test/config/deploy.test.ts', test: 'the image starts what the unit starts' },
    ],
  },
  {
    id: 'api-documented',
    promise: 'The OpenAPI document of each service is valid and has every route.',
    heldBy: [
      {
        file: 'test/http/kernel/openapi/openapi.test.ts',
        test: 'the document of every route of the … is valid OpenAPI 3.1, and none is missing',
      },
    ],
  },
  {
    id: 'foreign-plugins',
    promise: 'Our installer talks to existing plugin servers, and our plugin host to existing installers.',
    heldBy: [
      {
        file: 'test/engine/adapters/plugins/plugin-client.test.ts',
        test: 'requests have the parts, names and lengths that plugin servers expect',
      },
      {
        file: 'test/http/plugin-host/foreign-client.test.ts',
        test: 'every call succeeds over one connection, whatever protocol it offers to go on with',
      },
    ],
  },
  {
    id: 'big-user-ids',
    promise: 'User ids above 2^53 keep every digit.',
    heldBy: [
      { file: 'test/http/kernel/auth/tokens.test.ts', test: 'a numeric user id above 2^53 keeps every digit' },
      { file: 'test/e2e/datasets.test.ts', test: 'the owner keeps a user id above 2^53 digit by digit' },
      { file: 'test/engine/model/json.test.ts', test: 'user ids pass digit for digit' },
    ],
  },
  {
    id: 'handler-client-gone',
    promise: 'A handler job runs to its end when its client goes away, and its result can be fetched until it expires.',
    heldBy: [
      {
        file: 'test/http/handler/run-job.test.ts',
        test: 'a job whose client goes away runs to its end, and its result is fetched later',
      },
      {
        file: 'test/http/handler/run-job.test.ts',
        test: 'the result can be fetched again, in part too, until its time is over',
      },
    ],
  },
  {
    id: 'structure',
    promise: 'Sources import in the allowed direction only, and only bin reads the environment.',
    heldBy: [
      { file: 'test/architecture.test.ts', test: 'every import points in the allowed direction' },
      { file: 'test/architecture.test.ts', test: 'only bin reads the environment of the process' },
    ],
  },
];
