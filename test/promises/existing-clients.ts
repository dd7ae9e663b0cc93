// What deployed front ends need: they refuse a whole answer for one value that they do not know.

import type { PromiseRow } from '../promises.ts';

export const EXISTING_CLIENTS: readonly PromiseRow[] = [
  {
    id: 'absent-lists',
    promise: 'Lists that a client leaves out or sends as null are empty, and what is stored has them.',
    heldBy: [
      {
        file: 'test/http/installer/metadata/absent-lists.test.ts',
        test: 'every list of the details may be absent, null or empty, but for the install targets',
      },
      {
        file: 'test/http/installer/metadata/absent-lists.test.ts',
        test: 'the stored metadata hold the list of dependencies, whatever was sent',
      },
      {
        file: 'test/e2e/compatibility.test.ts',
        test: 'a form that leaves out what is empty, or sends null for it, is taken',
      },
    ],
  },
  {
    id: 'no-queued-install',
    promise: 'A client that names no interface version never sees an install that is queued, in any answer.',
    heldBy: [
      {
        file: 'test/http/installer/dataset-terms.test.ts',
        test: 'who names none gets an entry once something of it has begun',
      },
      {
        file: 'test/http/installer/queued-installs.test.ts',
        test: '… shows queued installs to those who name a version, and to nobody else',
      },
      { file: 'test/e2e/compatibility.test.ts', test: 'not one answer was refused' },
    ],
  },
  {
    id: 'assumed-version',
    promise: 'Clients that name no version get the field names of the one that the configuration assumes.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'a request that names no version is one of the assumed version, and named none',
      },
      {
        file: 'test/bin/compose/assumed-api-version.test.ts',
        test: 'a front end takes the version from the configuration, and its documentation says so',
      },
    ],
  },
  {
    id: 'study-ids',
    promise: "Users' studies have the ids that front ends look them up by, and permissions always have their list.",
    heldBy: [
      {
        file: 'test/http/access/asked-dataset.test.ts',
        test: 'a user study is listed, and found, under the prefixed id',
      },
      {
        file: 'test/http/access/asked-dataset.test.ts',
        test: 'without a prefix ids are as they are, and a list that is empty is still there',
      },
    ],
  },
  {
    id: 'history-words',
    promise: 'The history of dataset access has its words in upper case, and no field that is null.',
    heldBy: [
      {
        file: 'test/http/access/history.test.ts',
        test: 'its words are in upper case, whichever they are, and nothing in it is null',
      },
    ],
  },
  {
    id: 'related-by',
    promise: 'A related dataset says by which relation it is related, its identifier and its type.',
    heldBy: [
      {
        file: 'test/http/installer/dataset-details-view.test.ts',
        test: 'related datasets say by what they are related, and of what type that is',
      },
    ],
  },
  {
    id: 'too-large-is-400',
    promise: 'An upload or document beyond its size or the quota is answered 400, with the bound in the message.',
    heldBy: [
      {
        file: 'test/http/installer/create-limits.test.ts',
        test: 'an upload beyond its largest size is refused, announced or not, and leaves nothing',
      },
      {
        file: 'test/http/installer/create-limits.test.ts',
        test: 'an upload beyond the quota is refused, announced or not, and leaves what was there',
      },
      {
        file: 'test/http/installer/document-limits.test.ts',
        test: 'a body that cannot be used leaves the old file as it was',
      },
      {
        file: 'test/http/installer/uploads/upload-session.test.ts',
        test: 'takes what fits exactly where a step does not, and nothing beyond the quota',
      },
    ],
  },
  {
    id: 'json-type',
    promise: 'Every JSON answer, errors included, has the media type application/json without parameters.',
    heldBy: [
      {
        file: 'test/http/kernel/answers/json-text.test.ts',
        test: 'every JSON answer has the type application/json, without parameters',
      },
      { file: 'test/http/kernel/answers/json-text.test.ts', test: 'so has the answer to bytes that are no request' },
    ],
  },
  {
    id: 'auth-key',
    promise: 'Every service takes a token in Auth-Key or Auth_Key as in Authorization.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/authenticate.test.ts',
        test: 'a token is taken from Auth-Key and Auth_Key as from Authorization, and all that are sent have to agree',
      },
    ],
  },
  {
    id: 'no-way-to-deleted',
    promise: 'After a deletion was answered, no request sees the dataset or is led to it.',
    heldBy: [
      {
        file: 'test/http/installer/deletion.test.ts',
        test: 'the owner deletes a dataset: it is gone for everybody at once, and flagged in the store',
      },
      {
        file: 'test/http/installer/deletion.test.ts',
        test: 'after the deletion of the newest revision was answered, nobody is led to an older one',
      },
      {
        file: 'test/conformance/dataset-edits.ts',
        test: 'an edit can delete the older revisions with its own, and leaves those that are gone',
      },
      { file: 'test/e2e/compatibility.test.ts', test: 'a dataset that is shared, revised and deleted, and its study' },
    ],
  },
];
