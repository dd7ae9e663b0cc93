// The answers that deployed front ends read, with what they require of them. Sets of values are those of such clients, which
// may be smaller than the contract's: theirs of install statuses does not have `queued`.

import { type Decoder, date, flag, list, mapOf, oneOf, record, text, whole } from './decoder.ts';

const person = { userId: whole, firstName: text, lastName: text, email: text, affiliation: text };
const owner = record(person);
const type = record({ name: text, version: text, category: text });
const visibility = oneOf('private', 'protected', 'public', 'controlled');

const INSTALL = ['running', 'complete', 'failed-validation', 'failed-installation'] as const;
const installState = record(
  { status: oneOf(...INSTALL, 'ready-for-reinstall', 'missing-dependency') },
  { messages: list(text) },
);

const status = record({
  upload: record({ status: oneOf('running', 'success', 'rejected', 'failed') }, { message: text }),
  import: record({ status: oneOf('queued', 'in-progress', 'complete', 'invalid', 'failed') }, { messages: list(text) }),
  install: list(record({ installTarget: text, meta: installState }, { data: installState })),
});

const listed = record(
  {
    datasetId: text,
    owner,
    type,
    visibility,
    name: text,
    origin: text,
    installTargets: list(text),
    status,
    shares: list(record({ userId: whole, firstName: text, lastName: text, affiliation: text, accepted: flag })),
    fileCount: whole,
    fileSizeTotal: whole,
    created: date,
    summary: text,
  },
  { description: text, originalId: text },
);

const zip = record({ zipSize: whole, contents: list(record({ fileName: text, fileSize: whole })) });
const files = record(
  { upload: zip },
  {
    install: zip,
    documents: list(record({ fileName: text, fileSize: whole })),
    datasetProperties: list(record({ fileName: text, fileSize: whole })),
  },
);

const related = record({
  datasetId: text,
  type,
  name: text,
  summary: text,
  created: date,
  relatedBy: record({
    relationType: oneOf('publication', 'program-name', 'project-name'),
    identifier: text,
    type: oneOf('pmid', 'doi', 'program-name', 'project-name'),
  }),
});

const revision = record({
  action: oneOf('create', 'extend', 'revise'),
  timestamp: date,
  revisionId: text,
  revisionNote: text,
  fileListUrl: text,
});

const dependency = record({ resourceIdentifier: text, resourceDisplayName: text, resourceVersion: text });

const details = record(
  {
    datasetId: text,
    owner,
    type,
    visibility,
    name: text,
    shortName: text,
    summary: text,
    origin: text,
    created: date,
    installTargets: list(text),
    dependencies: list(dependency),
    status,
    files,
    relatedDatasets: list(related),
    daysForApproval: whole,
    revisionHistory: record({ originalId: text, revisions: list(revision) }),
  },
  {
    description: text,
    sourceUrl: text,
    projectName: text,
    programName: text,
    shares: list(record({ recipient: owner, status: oneOf('grant', 'revoke') })),
  },
);

const offer = record({
  datasetId: text,
  owner,
  shareStatus: oneOf('open', 'accepted', 'rejected'),
  type,
  installTargets: list(text),
});

const actions = record({
  studyMetadata: flag,
  subsetting: flag,
  visualizations: flag,
  resultsFirstPage: flag,
  resultsAll: flag,
});

const permission = record(
  {
    studyId: text,
    sha1Hash: text,
    displayName: text,
    shortDisplayName: text,
    description: text,
    isUserStudy: flag,
    type: oneOf('provider', 'end-user'),
    actionAuthorization: actions,
    accessRequestStatus: oneOf('unrequested', 'approved', 'requested', 'denied'),
  },
  { isManager: flag },
);

const historyUser = record({ userID: whole, firstName: text, lastName: text, email: text, organization: text });
const LEVELS = ['PUBLIC', 'PRERELEASE', 'PROTECTED', 'CONTROLLED', 'PRIVATE'] as const;
const change = record({
  cause: record({ user: historyUser, action: oneOf('CREATE', 'UPDATE', 'DELETE'), timestamp: date }),
  row: record(
    {
      endUserID: whole,
      user: historyUser,
      datasetPresenterID: text,
      restrictionLevel: oneOf(...LEVELS),
      approvalStatus: oneOf('APPROVED', 'REQUESTED', 'DENIED'),
      startDate: date,
      duration: whole,
      purpose: text,
      researchQuestion: text,
      analysisPlan: text,
      priorAuth: text,
      denialReason: text,
      allowSelfEdits: flag,
    },
    { dateDenied: date },
  ),
});

/** Status words of errors. */
const WORDS = ['bad-request', 'unauthorized', 'forbidden', 'not-found', 'bad-method', 'conflict', 'gone'] as const;
const problem = record({
  status: oneOf(...WORDS, 'invalid-input', 'failed-dependency', 'too-early', 'server-error'),
  message: text,
});

/** By what is asked: how a success reads, and the other codes that the contract lists. */
export interface Asked {
  readonly decode: Decoder;
  readonly codes: readonly number[];
}

export const ANSWERS = {
  datasets: { decode: list(listed), codes: [400, 401, 500] },
  community: { decode: list(listed), codes: [400, 401, 500] },
  /** A client follows the redirect. */
  dataset: { decode: details, codes: [301, 401, 404, 410, 425, 500] },
  files: { decode: files, codes: [401, 404, 410, 500] },
  offers: { decode: list(offer), codes: [400, 401, 500] },
  permissions: { decode: record({ perDataset: mapOf(permission) }, { isStaff: flag, isOwner: flag }), codes: [401] },
  study: {
    decode: record({ studyId: text, datasetId: text, isUserStudy: flag, actionAuthorization: actions }),
    codes: [401, 404],
  },
  history: { decode: record({ meta: record({ rows: whole, offset: whole }), results: list(change) }), codes: [401] },
  accepted: { decode: record({ datasetId: text }), codes: [400, 401, 403, 404, 422, 424, 500] },
} as const satisfies Readonly<Record<string, Asked>>;
export type AnswerName = keyof typeof ANSWERS;

export const PROBLEM: Decoder = problem;
