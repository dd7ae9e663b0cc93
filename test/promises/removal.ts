// When data go, and when they stay.

import type { PromiseRow } from '../promises.ts';

export const REMOVAL: readonly PromiseRow[] = [
  {
    id: 'uninstall-after-failure',
    promise: 'What a failed or killed install left stays for the uninstall script, and nothing is left after it.',
    heldBy: [
      {
        file: 'test/actors/plugin-host/in-place-install.test.ts',
        test: 'what a failed install left stays, and its uninstall finds it',
      },
      {
        file: 'test/actors/plugin-host/in-place-install.test.ts',
        test: 'a host that is killed at any step of an install or an uninstall can uninstall afterwards',
      },
      {
        file: 'test/actors/plugin-host/in-place-install.test.ts',
        test: 'three kills in a row end in a clean uninstall, wherever they come',
      },
    ],
  },
  {
    id: 'shared-rows',
    promise: "Targets on one data schema have a dataset's rows once, until the last of them gives it up.",
    heldBy: [
      {
        file: 'test/e2e/shared-data.test.ts',
        test: '… targets: rows are there once while any target has the dataset, and none afterwards',
      },
      {
        file: 'test/e2e/shared-data.test.ts',
        test: 'three kills in a row, and one in the middle of what follows: rows are there once, and none afterwards',
      },
      {
        file: 'test/actors/lanes/install-data.test.ts',
        test: 'a deletion takes files from the first target and the rows with the last',
      },
    ],
  },
  {
    id: 'unbegun-install',
    promise: 'Where the first call of an install reached nobody, no uninstall is owed.',
    heldBy: [
      {
        file: 'test/actors/lanes/install-lane.test.ts',
        test: 'an install whose first call reached nobody has begun nothing: no uninstall is owed',
      },
    ],
  },
  {
    id: 'delete-brake',
    promise:
      'A full reconciliation deletes nothing if it would delete more than 10 datasets and more than 2 % of a database.',
    heldBy: [
      {
        file: 'test/actors/reconciler-brake.test.ts',
        test: 'an empty bucket listing: a full run deletes nothing and says why',
      },
      {
        file: 'test/actors/reconciler-brake.test.ts',
        test: 'up to 10 datasets, or 2 % of a database, are deleted unasked',
      },
      {
        file: 'test/actors/reconciler-brake.test.ts',
        test: 'a store that loses more between the two looks is not believed',
      },
    ],
  },
  {
    id: 'retention',
    promise: 'A deleted dataset can be restored until its retention ends, and is pruned only after that.',
    heldBy: [
      {
        file: 'test/actors/daemons/pruner.test.ts',
        test: 'a dataset stays for as long as its retention lasts, and not a moment longer',
      },
      {
        file: 'test/http/installer/deletion.test.ts',
        test: 'a deletion cannot be taken back once the window has ended or the pruner has begun',
      },
      { file: 'test/actors/daemons/pruner.test.ts', test: 'an undelete that comes first wins' },
    ],
  },
  {
    id: 'undelete',
    promise: 'An undeleted dataset is as it was before, installed everywhere.',
    heldBy: [
      {
        file: 'test/http/installer/deletion.test.ts',
        test: 'the owner takes a deletion back, as often as asked',
      },
      {
        file: 'test/actors/lanes/soft-delete-lane.test.ts',
        test: 'a deletion that is taken back while scripts run does not come back, and all is installed again',
      },
    ],
  },
  {
    id: 'deleted-everywhere',
    promise: 'A deleted dataset is uninstalled from every target, and a pruned one leaves nothing anywhere.',
    heldBy: [
      {
        file: 'test/actors/lanes/soft-delete-lane.test.ts',
        test: 'a deleted dataset is taken away from every target; its objects and statuses stay',
      },
      {
        file: 'test/actors/lanes/hard-delete-lane.test.ts',
        test: 'a dataset that is pruned is gone everywhere, its metadata and flags last',
      },
    ],
  },
  {
    id: 'revision-supersedes-late',
    promise: 'An old revision stays on the sites until the new one is installed on every target.',
    heldBy: [
      {
        file: 'test/actors/dataset/stored-dataset.test.ts',
        test: 'the older revision stays while the newer one is not installed on one target',
      },
      {
        file: 'test/actors/dataset/stored-dataset.test.ts',
        test: 'the older revision stays while a target of the newer one is away, and goes when it is back',
      },
    ],
  },
];
