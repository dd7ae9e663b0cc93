// The installer: lifecycle moves, authentication, errors, limits, versions.

export const RULE_ROWS = {
  'lifecycle/delete': 'any dataset, by its owner (else 403): marked deleted, recoverable; 204',
  'lifecycle/prune': 'marked deleted longer than the retention window: permanently removed',
  'lifecycle/files before import': 'import not yet done: unchanged, upload zipSize is -1',

  'authentication/user': '401 unauthorized without a login; owner-only actions are 403 for others',
  'authentication/Auth-Key': 'a token in Auth-Key or Auth_Key counts as one in Authorization; two that differ are 400',
  'authentication/administrator': 'header Admin-Token; proxy upload also needs User-ID',

  'errors/body': 'status* of the enum and message*',
  'errors/400': 'bad-request',
  'errors/401': 'unauthorized',
  'errors/403': 'forbidden',
  'errors/404': 'not-found',
  'errors/410': 'gone',
  'errors/422': 'invalid-input; errors* {general*, byKey*}',
  'errors/424': 'failed-dependency; dependency*',
  'errors/500': 'server-error; requestId*',
  'errors/bad-method': 'code not shown: 405 with Allow',
  'errors/conflict': 'code not shown: 409',
  'errors/too-early': 'code not shown: 425',

  'limits/fields': 'length and value bounds of the tables',
  'limits/limit': 'default 100 on admin listings; -1 disables it and makes offset ignored',
  'limits/configuration': 'maximum upload size, per-user quota, per-type file size are configuration values',

  'versions/study information': 'studyCharacteristics in 1.7.0, datasetCharacteristics in 1.8.0',
  'versions/new metadata': 'daysForApproval, dataDisclaimer, datasetSources: absent in 1.7.0',
  'versions/property files path': 'variable-properties (GET, PUT) in 1.7.0, dataset-properties (GET, DELETE) in 1.8.0',
  'versions/file listing key': 'variableProperties in 1.7.0, datasetProperties in 1.8.0',
  'versions/sourceUrl': 'string in both',
} as const;
