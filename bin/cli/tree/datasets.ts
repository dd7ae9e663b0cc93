// Commands of owners of datasets.

import { LIST_SORTS, LISTED_STATUSES } from '../../../engine/ports/dataset-queries.ts';
import { command } from '../command.ts';
import { CLIENT_OPTIONS, FOLLOW_OPTIONS, UPLOAD_OPTIONS } from './shared-options.ts';

const VISIBILITIES = ['private', 'protected', 'public', 'controlled'] as const;
const OWNERSHIPS = ['any', 'owned', 'shared'] as const;
const ID = { id: { what: "the dataset's id, as 'longshore datasets list' shows it" } } as const;
const FOLLOWED = { 0: 'success; with --watch: the dataset is installed everywhere' } as const;
const FAILED = 'it failed or was refused; with --watch: the dataset failed or is invalid, or the deadline passed';

export const UPLOAD = command({
  summary: 'upload files as a new dataset',
  description: [
    "Prints the dataset's id as soon as the server has accepted the upload. Its validation and installation follow; " +
      '--watch shows them.',
  ],
  arguments: { file: { many: true, optional: true, path: 'file', what: 'the files to upload; not needed with --url' } },
  options: {
    type: {
      type: 'string',
      value: 'NAME@VERSION',
      otherwise: 'as in --details',
      what: 'the type of the dataset, such as genelist@1.0',
    },
    target: {
      type: 'string',
      value: 'ID',
      multiple: true,
      otherwise: 'as in --details',
      what: 'an install target',
    },
    name: { type: 'string', value: 'TEXT', otherwise: 'as in --details', what: 'the name of the dataset' },
    summary: { type: 'string', value: 'TEXT', otherwise: 'as in --details', what: 'what the dataset is about' },
    description: { type: 'string', value: 'TEXT', otherwise: 'none', what: 'a longer description' },
    visibility: {
      type: 'string',
      value: 'WORD',
      values: VISIBILITIES,
      otherwise: 'private',
      what: 'who may see the dataset',
    },
    ...UPLOAD_OPTIONS,
    ...CLIENT_OPTIONS,
  },
  examples: [
    {
      run: "upload genes.txt --type genelist@1.0 --target AlphaDB --name 'My genes' --summary 'Of interest' --watch",
      what: 'uploads one file, and waits until it is installed',
    },
    {
      run: 'upload --url https://example.org/genes.txt --details details.json',
      what: 'has the server download the file',
    },
  ],
  exitCodes: { ...FOLLOWED, 1: FAILED },
  load: async () => (await import('../../commands/upload.ts')).upload,
});

export const WATCH = command({
  summary: 'follow a dataset until it is installed or has failed',
  description: ['Prints how it ended: installed, rejected, invalid or failed. Ctrl-C stops only this command.'],
  arguments: ID,
  options: { ...FOLLOW_OPTIONS, ...CLIENT_OPTIONS },
  examples: [{ run: 'watch 0VbfWYbontYX1Se4 --deadline 10m', what: 'waits ten minutes at most' }],
  exitCodes: {
    0: 'the dataset is installed everywhere',
    1: 'the dataset failed or is invalid, or the deadline passed',
  },
  load: async () => (await import('../../commands/upload.ts')).watch,
});

export const LIST = command({
  summary: 'list or search the datasets that you can see',
  description: [
    'With --search, the datasets with these words in their details, the most relevant first. Quotes make a phrase; put - before ' +
      'what must not occur, and * after the beginning of a word. Otherwise the newest come first.',
  ],
  arguments: {},
  options: {
    search: { type: 'string', value: 'WORDS', otherwise: 'all datasets', what: 'only datasets with these words' },
    name: { type: 'string', value: 'TEXT', otherwise: 'all names', what: 'only datasets whose name contains this' },
    type: {
      type: 'string',
      value: 'NAME[@VERSION]',
      otherwise: 'all types',
      what: 'only datasets of this type, such as genelist@1.0',
    },
    status: {
      type: 'string',
      value: 'WORD',
      values: LISTED_STATUSES,
      otherwise: 'all',
      what: 'only datasets that are so far',
    },
    'updated-since': {
      type: 'string',
      value: 'TIME',
      otherwise: 'all',
      what: 'only datasets that have changed since, in UTC, such as 2026-01-31T12',
    },
    sort: {
      type: 'string',
      value: 'KEY',
      values: Object.keys(LIST_SORTS),
      otherwise: 'relevance with --search, otherwise created',
      what: 'what to sort by',
    },
    order: {
      type: 'string',
      value: 'WORD',
      values: ['asc', 'desc'],
      otherwise: 'asc for names, otherwise desc',
      what: 'ascending or descending',
    },
    limit: { type: 'string', value: 'N', otherwise: 'all', what: 'print at most so many datasets' },
    target: { type: 'string', value: 'ID', otherwise: 'all targets', what: 'only datasets for this install target' },
    ownership: {
      type: 'string',
      value: 'WORD',
      values: OWNERSHIPS,
      otherwise: 'any',
      what: 'only your own datasets, or only those that others share with you',
    },
    ...CLIENT_OPTIONS,
  },
  examples: [
    { run: 'datasets list --ownership owned', what: 'lists your own datasets' },
    { run: "datasets list --search 'malaria -mouse' --limit 10", what: 'shows the ten most relevant datasets' },
    { run: 'datasets list --status failed --sort updated', what: 'shows what failed last' },
  ],
  load: async () => (await import('../../commands/datasets.ts')).list,
});

export const SHOW = command({
  summary: 'show a dataset, the status and messages of every step, and its files with their SHA-256',
  arguments: ID,
  options: CLIENT_OPTIONS,
  examples: [
    { run: 'datasets show 0VbfWYbontYX1Se4', what: 'says which steps are done, and why a step failed' },
    { run: 'datasets show 0VbfWYbontYX1Se4 --json', what: 'prints everything that the server knows' },
  ],
  load: async () => (await import('../../commands/datasets.ts')).show,
});

export const DOWNLOAD = command({
  summary: "download a dataset's files as a zip archive, or one of its documents",
  description: [
    'What arrives is compared with the SHA-256 that the server says, and is not written if it differs. If the server does not ' +
      'know it, the command says so.',
  ],
  arguments: ID,
  options: {
    install: { type: 'boolean', what: 'download the converted files that are installed, instead of the upload' },
    document: {
      type: 'string',
      value: 'NAME',
      otherwise: 'the upload',
      what: 'download this document instead',
    },
    out: {
      type: 'string',
      value: 'FILE',
      path: 'file',
      otherwise: 'ID-upload.zip, ID-data.zip or the name of the document, in this folder',
      what: 'the file to write',
    },
    ...CLIENT_OPTIONS,
  },
  examples: [{ run: 'datasets download 0VbfWYbontYX1Se4 --out upload.zip', what: 'writes upload.zip' }],
  load: async () => (await import('../../commands/datasets.ts')).download,
});

export const REVISE = command({
  summary: 'upload a new revision of a dataset',
  description: ["Prints the new revision's id. The previous revision stays until it is pruned."],
  arguments: {
    ...ID,
    file: { many: true, optional: true, path: 'file', what: 'the files of the revision; not needed with --url' },
  },
  options: {
    note: { type: 'string', value: 'TEXT', required: true, what: 'what is new in this revision' },
    ...UPLOAD_OPTIONS,
    details: {
      ...UPLOAD_OPTIONS.details,
      otherwise: 'the details stay as they are',
      what: 'a JSON file with changed details, such as {"name": {"value": "New name"}}',
    },
    ...CLIENT_OPTIONS,
  },
  examples: [
    {
      run: "datasets revise 0VbfWYbontYX1Se4 genes.txt --note 'Adds the genes of chromosome 7'",
      what: 'replaces the files, and keeps the details',
    },
  ],
  exitCodes: { ...FOLLOWED, 1: FAILED },
  load: async () => (await import('../../commands/datasets.ts')).revise,
});

export const DELETE = command({
  summary: 'delete a dataset; it can be restored until it is pruned',
  arguments: ID,
  options: CLIENT_OPTIONS,
  examples: [{ run: 'datasets delete 0VbfWYbontYX1Se4', what: 'removes the dataset from all sites' }],
  load: async () => (await import('../../commands/datasets.ts')).remove,
});

export const UNDELETE = command({
  summary: 'restore a deleted dataset',
  arguments: ID,
  options: CLIENT_OPTIONS,
  examples: [{ run: 'datasets undelete 0VbfWYbontYX1Se4', what: 'installs the dataset on its sites again' }],
  load: async () => (await import('../../commands/datasets.ts')).undelete,
});

export const RETRY = command({
  summary: 'retry an upload or import that failed through no fault of yours, once',
  arguments: ID,
  options: CLIENT_OPTIONS,
  examples: [{ run: 'datasets retry 0VbfWYbontYX1Se4', what: 'retries the step that failed' }],
  load: async () => (await import('../../commands/datasets.ts')).retry,
});

export const SHARE = command({
  summary: 'offer a dataset to another user, or withdraw the offer',
  arguments: ID,
  options: {
    with: { type: 'string', value: 'USER', required: true, what: 'the id of the other user' },
    revoke: { type: 'boolean', what: 'withdraw the offer' },
    ...CLIENT_OPTIONS,
  },
  examples: [
    { run: 'datasets share 0VbfWYbontYX1Se4 --with 42', what: 'offers the dataset to user 42' },
    { run: 'datasets share 0VbfWYbontYX1Se4 --with 42 --revoke', what: 'withdraws the offer' },
  ],
  load: async () => (await import('../../commands/datasets.ts')).share,
});

export const DATASETS = {
  summary: 'list, show, download, revise, delete, retry or share datasets',
  commands: {
    list: LIST,
    show: SHOW,
    download: DOWNLOAD,
    revise: REVISE,
    delete: DELETE,
    undelete: UNDELETE,
    retry: RETRY,
    share: SHARE,
  },
} as const;
