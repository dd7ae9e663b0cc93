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
    id: 'what-a-search-finds',
    promise:
      'A search finds nothing that the list does not show, and tells guests nothing of people whom they are not shown.',
    heldBy: [
      { file: 'test/conformance/dataset-pages.ts', test: 'a search finds what the list shows, and nothing else' },
      {
        file: 'test/conformance/dataset-pages.ts',
        test: 'guests find people only where they are shown them, also not by what is missing',
      },
      { file: 'test/attack/search-leaks.test.ts', test: 'a private dataset is found by its owner alone' },
      {
        file: 'test/attack/search-leaks.test.ts',
        test: 'guests learn nothing of the people in protected datasets',
      },
    ],
  },
  {
    id: 'who-reads-files',
    promise:
      'Files of a protected or controlled dataset are for its owner, recipients, and holders of an approved, running grant.',
    heldBy: [
      { file: 'test/http/access/who-may-read.test.ts', test: 'who may read what, at every route and on the site' },
      {
        file: 'test/http/access/who-may-read.test.ts',
        test: 'a grant counts from its beginning to its end, to the millisecond',
      },
      {
        file: 'test/http/access/who-may-read.test.ts',
        test: 'without dataset access service the files of protected datasets are for owner and recipients',
      },
      {
        file: 'test/http/access/user-dataset-requests.test.ts',
        test: 'an id that a curated dataset has gives nothing of the user’s dataset',
      },
      {
        file: 'test/attack/protected-files.test.ts',
        test: 'the files of a … dataset are for those who were given them',
      },
    ],
  },
  {
    id: 'people-of-guests',
    promise: 'A guest learns no name and no address of a person from a dataset that is not public.',
    heldBy: [
      {
        file: 'test/http/access/who-may-read.test.ts',
        test: 'a guest learns of no person from what is protected or controlled',
      },
    ],
  },
  {
    id: 'owner-changes',
    promise: 'Only its owner changes a dataset, and a refusal does not reveal which datasets exist.',
    heldBy: [
      {
        file: 'test/http/installer/patch.test.ts',
        test: 'only the owner changes a dataset, and nobody learns what others own',
      },
      {
        file: 'test/http/installer/uploads/revise.test.ts',
        test: 'only the owner revises, and nobody learns what others own',
      },
      {
        file: 'test/http/installer/deletion.test.ts',
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
        file: 'test/http/installer/deletion.test.ts',
        test: 'the owner deletes a dataset: it is gone for everybody at once, and flagged in the store',
      },
    ],
  },
  {
    id: 'site-view',
    promise:
      'The view of a site shows a dataset only to owner, recipients and holders of a grant, and only when it is complete.',
    heldBy: [
      {
        file: 'test/conformance/control-schema.ts',
        test: 'the site view tells owner and recipients apart',
      },
      {
        file: 'test/actors/daemons/site-grants.test.ts',
        test: 'a site shows a dataset while a grant for it runs, and no longer',
      },
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
      { file: 'test/http/access/end-user-patch.test.ts', test: 'nobody decides about an own request' },
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
