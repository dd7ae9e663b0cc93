// Who sees, changes and decides about a dataset or a report.

import type { PromiseRow } from '../promises.ts';

export const VISIBILITY: readonly PromiseRow[] = [
  {
    id: 'who-sees-a-dataset',
    promise: 'Only its owner and people who accepted a share see a private dataset; for others it does not exist.',
    heldBy: [
      { file: 'test/http/installer/visibility.test.ts', test: 'who may see what' },
      {
        file: 'test/conformance/dataset-queries.ts',
        test: 'a dataset is shared once it is offered and accepted, not before and not after',
      },
      {
        file: 'test/conformance/dataset-queries.ts',
        test: 'a stranger does not learn of private datasets of the same project',
      },
    ],
  },
  {
    id: 'owner-changes',
    promise: 'Only its owner changes a dataset, and a refusal does not reveal which datasets exist.',
    heldBy: [
      {
        file: 'test/http/installer/changes/patch.test.ts',
        test: 'only the owner changes a dataset, and nobody learns what others own',
      },
      {
        file: 'test/http/installer/revisions/revise.test.ts',
        test: 'only the owner revises, and nobody learns what others own',
      },
      {
        file: 'test/http/installer/changes/delete.test.ts',
        test: 'only the owner and administrators delete, and nobody learns what others own',
      },
    ],
  },
  {
    id: 'revoked-is-gone',
    promise: 'A revoked share no longer shows the dataset or any older revision of it.',
    heldBy: [
      {
        file: 'test/http/installer/visibility.test.ts',
        test: 'old revisions are no way around what the owner took back',
      },
      { file: 'test/actors/lanes/sharing-lane.test.ts', test: 'both words are needed, and each can be taken back' },
    ],
  },
  {
    id: 'deleted-is-gone',
    promise: 'Once DELETE is answered, the dataset is gone from lists, details and files, for its owner too.',
    heldBy: [
      { file: 'test/http/installer/visibility.test.ts', test: 'who may see what' },
      { file: 'test/conformance/dataset-queries.ts', test: 'lists live datasets only' },
      {
        file: 'test/http/installer/changes/delete.test.ts',
        test: 'the owner deletes a dataset: it is gone for everybody at once, and flagged in the store',
      },
    ],
  },
  {
    id: 'site-view',
    promise:
      'The view of a site shows a dataset only to owner and recipients, and only when data and metadata are complete.',
    heldBy: [
      { file: 'test/engine/adapters/install-target.test.ts', test: 'the site view tells owner and recipients apart' },
      {
        file: 'test/conformance/install-target.ts',
        test: 'a written dataset is present, and shown to its owner once both installs are complete',
      },
      { file: 'test/conformance/install-target.ts', test: 'a deleted dataset is shown to nobody' },
    ],
  },
  {
    id: 'access-decisions',
    promise: 'Nobody decides about their own access request, and the last owner of the service stays.',
    heldBy: [
      { file: 'test/http/access/patch-table.test.ts', test: 'nobody decides about an own request' },
      { file: 'test/http/access/staff.test.ts', test: 'two owners who demote each other at once leave one' },
    ],
  },
  {
    id: 'access-permissions',
    promise: 'Permissions in dataset access follow level, role and grant, and a grant ends to the millisecond.',
    heldBy: [
      {
        file: 'test/http/access/permission-table.test.ts',
        test: 'every restriction level, for everything that a caller can be',
      },
      {
        file: 'test/http/access/permission-table.test.ts',
        test: 'a grant opens a dataset from its start until its days are over, to the millisecond',
      },
    ],
  },
  {
    id: 'access-history',
    promise: 'The history of dataset access is append-only and has the cause of every change.',
    heldBy: [
      { file: 'test/http/access/history.test.ts', test: 'it is append-only, and nothing is written without a cause' },
    ],
  },
  {
    id: 'report-files-listed',
    promise: 'A reader of a report gets the files in its list and nothing that lies next to them.',
    heldBy: [
      {
        file: 'test/http/report/files.test.ts',
        test: 'only what is in the list is served, whatever else lies beside it',
      },
    ],
  },
  {
    id: 'guest-collection',
    promise: "A guest's report collection moves only to a user who has the guest's token.",
    heldBy: [{ file: 'test/http/report/maintenance.test.ts', test: 'without that token nothing moves' }],
  },
];
