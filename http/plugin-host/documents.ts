// Request and response bodies of the plugin protocol, for the documentation at /api.

import { DATASET_ID_TEXT } from '../../engine/model/ids.ts';
import { MAX_JOB_ID } from '../../engine/ports/plugin-client.ts';
import type { RouteBody, RouteResponse } from '../kernel/pipeline/route.ts';

const text = { type: 'string' } as const;
const messages = { type: 'array', items: text } as const;
const file = (description: string, contentMediaType = 'application/zip'): object => ({
  type: 'string',
  contentMediaType,
  description,
});
const object = (properties: object, required: readonly string[], description?: string): object => ({
  type: 'object',
  ...(description === undefined ? {} : { description }),
  properties,
  required,
});

const ids = {
  'event-id': { type: 'integer', minimum: 0, description: 'Event id that appears in all logs; default 0' },
  'vdi-id': { ...text, pattern: `^${DATASET_ID_TEXT}$`, description: 'Dataset' },
};
const target = { 'install-target': { ...text, description: 'A configured target that accepts the data type' } };
const meta = { type: 'object', description: 'Metadata of the dataset, as stored' };
const type = object({ name: text, version: text }, ['name', 'version']);
const details = (properties: object, required: readonly string[]): object =>
  object({ ...ids, ...properties }, ['vdi-id', ...required], 'JSON');

const form = (properties: object, required: readonly string[]): RouteBody => ({
  description: 'Each part once, except dataProperties',
  content: { 'multipart/form-data': object(properties, required) },
});

export const IMPORT_BODY = form(
  {
    details: details(
      { 'job-id': { type: 'integer', minimum: 0, maximum: MAX_JOB_ID, description: 'Default 0' }, meta },
      ['meta'],
    ),
    payload: file('The raw files'),
  },
  ['details', 'payload'],
);

export const INSTALL_DATA_BODY = form(
  {
    details: details(target, ['install-target']),
    meta,
    manifest: { type: 'object', description: 'The manifest of the import' },
    payload: file('The data of the import'),
  },
  ['details', 'meta', 'manifest', 'payload'],
);

export const INSTALL_META_BODY = form(
  {
    details: details({ ...target, meta }, ['install-target', 'meta']),
    dataProperties: {
      type: 'array',
      items: file('A property file, by its file name', 'application/octet-stream'),
      description: 'Any number of files',
    },
  },
  ['details'],
);

export const INSTALL_FILES_BODY = form(
  {
    details: details(
      {
        ...target,
        'source-target': {
          ...text,
          description: 'Another target with the same data schema, where the dataset is installed',
        },
        meta,
      },
      ['install-target', 'source-target', 'meta'],
    ),
  },
  ['details'],
);

export const UNINSTALL_BODY: RouteBody = {
  description: 'What to remove',
  content: { 'application/json': details({ ...target, type }, ['install-target', 'type']) },
};

const output = { ...text, description: 'The end of what the script printed; only if the request has x-script-output' };
const PROBLEM = object(
  {
    status: { ...text, description: 'Kind of error; absent if a script failed' },
    message: text,
    requestId: { ...text, description: 'With status server-error' },
    output,
  },
  ['message'],
);
const problem = (description: string): RouteResponse => ({ description, schema: PROBLEM });

export const VALIDATION: RouteResponse = {
  description: 'Messages for the owner',
  schema: object({ isValid: { type: 'boolean' }, basicValidation: messages, communityValidation: messages }, [
    'isValid',
    'basicValidation',
    'communityValidation',
  ]),
};

export const MISSING_DEPENDENCY: RouteResponse = {
  description: 'A dependency is missing',
  schema: object({ warnings: messages }, ['warnings']),
};

export const IMPORTED: RouteResponse = {
  description: 'vdi-manifest.json, warnings.json and data.zip',
  contentType: 'application/zip',
};

/** Responses of every call. */
export const COMMON = {
  400: problem('Not a request of the protocol'),
  401: problem('The token is missing or wrong'),
  403: problem('Sent by a page of another origin'),
  413: problem('A part is too large'),
  415: problem('Another content type'),
  429: problem('Too many wrong tokens came from the address'),
  500: problem('The host failed, or a script took too long'),
  503: problem('No room; see Retry-After'),
  555: {
    description: 'A script failed',
    schema: object(
      { script: text, 'exit-code': { type: 'integer', minimum: 0, maximum: 255 }, message: text, output },
      ['script', 'exit-code', 'message'],
    ),
  },
} as const satisfies Readonly<Record<number, RouteResponse>>;

const MANIFEST = ['gitTag', 'gitCommit', 'gitBranch', 'gitUrl', 'buildId', 'buildNumber', 'buildTime'] as const;
export const BUILD: RouteResponse = {
  description: 'Build manifest',
  schema: object({ manifest: object(Object.fromEntries(MANIFEST.map((name) => [name, text])), MANIFEST) }, [
    'manifest',
  ]),
};
