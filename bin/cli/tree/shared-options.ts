// Options that several commands have.

import type { OptionSpec, OptionSpecs } from '../command.ts';

/** Where `longshore up` keeps everything (bin/compose/data-dir.ts). */
export const DEFAULT_DATA_DIR = '/var/lib/longshore for root, otherwise ~/.local/state/longshore';

export const DATA = {
  type: 'string',
  value: 'DIR',
  path: 'directory',
  otherwise: DEFAULT_DATA_DIR,
  what: "the data directory of 'longshore up'",
} as const satisfies OptionSpec;

export const CONFIG = {
  type: 'string',
  value: 'FILE',
  path: 'file',
  required: true,
  what: 'the configuration file',
} as const satisfies OptionSpec;

/** Of commands that take `--data` or `--config`. */
export const CONFIG_INSTEAD = {
  type: 'string',
  value: 'FILE',
  path: 'file',
  otherwise: 'the configuration in the data directory',
  what: 'the configuration file, instead of --data',
} as const satisfies OptionSpec;

export const JSON_OUTPUT = { type: 'boolean', what: 'print the result as JSON' } as const satisfies OptionSpec;
export const QUIET = { type: 'boolean', what: 'show no progress' } as const satisfies OptionSpec;

const SERVER = {
  type: 'string',
  value: 'URL',
  otherwise: "LONGSHORE_SERVER, or the server of 'longshore up' in the data directory",
  what: 'the base URL of the server',
} as const satisfies OptionSpec;

/** How commands of users reach the server: `--server URL --token T`, or `--data DIR` of a running `longshore up`. */
export const CLIENT_OPTIONS = {
  server: SERVER,
  token: {
    type: 'string',
    value: 'TOKEN',
    otherwise: 'LONGSHORE_TOKEN; not needed with --data',
    what: 'the bearer token; other users of the machine can see it, so prefer LONGSHORE_TOKEN',
  },
  data: DATA,
  user: {
    type: 'string',
    value: 'N',
    default: '1',
    what: 'with --data: the id of the user to act as',
  },
  json: JSON_OUTPUT,
  quiet: QUIET,
} as const satisfies OptionSpecs;

/** How commands of administrators reach the server: `--server URL --admin-token T`, or `--data DIR`. */
export const ADMIN_OPTIONS = {
  server: SERVER,
  'admin-token': {
    type: 'string',
    value: 'TOKEN',
    otherwise: 'LONGSHORE_ADMIN_TOKEN; not needed with --data',
    what: 'the administrator token; other users of the machine can see it, so prefer LONGSHORE_ADMIN_TOKEN',
  },
  data: DATA,
  json: JSON_OUTPUT,
  quiet: QUIET,
} as const satisfies OptionSpecs;

/** Of commands that may wait until a dataset is installed. */
export const FOLLOW_OPTIONS = {
  deadline: {
    type: 'string',
    value: 'DURATION',
    otherwise: 'no limit',
    what: 'fail if the dataset is not finished after this time, such as 90s or 10m',
  },
} as const satisfies OptionSpecs;

/** Of commands that send files. */
export const UPLOAD_OPTIONS = {
  url: {
    type: 'string',
    value: 'URL',
    otherwise: 'the files are sent',
    what: 'have the server download this URL instead of sending files',
  },
  details: {
    type: 'string',
    value: 'FILE',
    path: 'file',
    otherwise: 'only what the options say',
    what: 'a JSON file with details of the dataset; options override it',
  },
  origin: {
    type: 'string',
    value: 'TEXT',
    default: 'direct-upload',
    what: 'where the data come from, as recorded in the dataset',
  },
  watch: { type: 'boolean', what: 'follow the dataset until it is installed or has failed' },
  ...FOLLOW_OPTIONS,
} as const satisfies OptionSpecs;
