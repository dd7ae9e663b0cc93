// Which routes take an Idempotency-Key: every POST and PUT does, or has its reason here (docs/idempotency.md).

import t from 'tap';
import { SERVICES } from './services.ts';

const KEYED = [
  'addEndUser',
  'addProvider',
  'addStaff',
  'createDataset',
  'createReportJob',
  'createResumableUpload',
  'createWebhook',
  'reviseDataset',
  'rotateWebhookSecret',
  'uploadForUser',
];

const WITHOUT: Readonly<Record<string, readonly string[]>> = {
  'puts something below a name or id that the client chose': [
    ...['putDocument', 'putPropertyFile', 'putVariablePropertyFile', 'putShareOffer', 'putShareReceipt'],
    ...['putJob', 'pause', 'setLogLevel'],
  ],
  'takes each job once': ['postJob'],
  'changes what exists, and a repetition finds it changed': [
    ...['undeleteDataset', 'retryDataset', 'requeueReportJob', 'linkGuest', 'approveEligibleAccessRequests'],
    ...['purgeDataset', 'retryJob', 'cancelJob', 'retryProblems', 'discardProblems', 'clearFailedInstalls'],
    ...['reconcileDatasets', 'pruneDatasets', 'reloadConfiguration', 'holdObjectStore'],
  ],
  'has its own offset': ['overrideResumableUpload'],
  reads: ['getReportStatuses'],
  'gives a token, of which two do no harm, or takes each code once': ['signInAsSample', 'signInByCode'],
  'ends what a repetition finds ended': ['signOutEverywhere'],
  'asks for a test message, of which two do no harm': ['testWebhook'],
  'is called by lanes, which repeat it': [
    ...['importDataset', 'installData', 'installMeta', 'installFiles', 'uninstallFiles', 'uninstallDataset'],
  ],
};

t.test('every POST and PUT takes a key, or says why it needs none', async (t) => {
  const keyed: string[] = [];
  const without: string[] = [];
  for (const service of Object.values(SERVICES))
    for (const { method, operationId, keyed: takesKey } of (await service(t)).routes)
      if (method === 'POST' || method === 'PUT') (takesKey ? keyed : without).push(operationId);
  t.strictSame(keyed.toSorted(), KEYED);
  t.strictSame(without.toSorted(), Object.values(WITHOUT).flat().toSorted());
});
