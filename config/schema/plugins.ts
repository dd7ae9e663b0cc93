// `installer.plugins`: which plugin server serves which data types. `timeouts`, `staging`, `limits` and `token` are ours.

import {
  address,
  derived,
  duration,
  filled,
  flag,
  formed,
  integer,
  list,
  map,
  optional,
  secret,
  section,
  text,
  version,
} from './field.ts';
import { targetIdField } from './install-targets.ts';
import type { Loaded } from './loaded.ts';

/** First value beyond a signed 64-bit integer. */
const INT64_END = 2 ** 63;
export const TOKEN_LENGTH = 16;
const TIMEOUT = { positive: true, 'x-live': 'plugin-timeouts' } as const;
export const DEFAULT_PLUGIN_PORT = 80;

const script = (what: string) =>
  filled(`Script that ${what}.`, {
    maxDuration: duration('For one run, from its start.', '1h', { positive: true }),
    pathOverride: optional(
      formed<string>('uri-path', "Path of the script instead of the plugin host's own.", { format: 'uri-reference' }),
    ),
  });

const scripts = filled('The five scripts of a plugin.', {
  checkCompatibility: script("checks a dataset's dependencies against a target"),
  dataCleaning: script('validates and processes an upload'),
  dataInstall: script('installs the data'),
  metaUpdate: script('installs the metadata'),
  uninstall: script('removes the dataset from a target'),
});
export type ScriptsConfiguration = Loaded<typeof scripts>;

const dataType = section('A type of dataset.', {
  name: formed<string>('type-name', 'Name; case does not matter.', { minLength: 3 }),
  version: version('Version; compared as text.'),
  category: text('Display name.', { minLength: 3 }),
  typeChangesEnabled: flag('A revision may have another type than this one.', false),
  maxFileSize: derived(
    integer('Bytes per file; never more than `restService.maxUploadSize`.', {
      minimum: 0,
      exclusiveMaximum: INT64_END,
      'x-allowed': 'a whole number 0..9223372036854775807',
    }),
    '`restService.maxUploadSize`',
  ),
  allowedFileExtensions: list(
    'Extensions of single files; any when empty. Archives are always accepted and not listed here.',
    text('Extension.', { pattern: '^\\..', 'x-allowed': "text that starts with a dot and goes on, such as '.txt'" }),
    { uniqueItems: true, default: [] },
  ),
  usesDataProperties: flag('Datasets of this type need data properties files.', false),
  projectIds: list('Targets that the type is for; any when empty.', targetIdField('A target.'), { default: [] }),
});
export type DataTypeConfiguration = Loaded<typeof dataType>;

const plugin = section('A plugin server. Its key names it in logs, metrics and `longshore plugin --id`.', {
  server: address('The plugin server.', DEFAULT_PLUGIN_PORT),
  dataTypes: list('What it handles.', dataType, { minItems: 1, uniqueItems: true }),
  customPath: optional(formed<string>('search-path', 'Further directories of PATH for its scripts, colon-separated.')),
  installRoot: formed<string>('uri-path', 'Directory above the site build, where scripts see it.', {
    default: '/datasets',
    format: 'uri-reference',
  }),
  scripts,
  timeouts: filled('Of our calls to it.', {
    connect: duration('For connecting.', '10s', TIMEOUT),
    reply: duration(
      "For the head of the reply, beyond the summed `maxDuration` of the call's scripts.",
      '60s',
      TIMEOUT,
    ),
    idle: duration('For a body that stands still.', '60s', TIMEOUT),
  }),
  staging: flag(
    'Install into a sibling directory and rename: sites never see half of an install. It costs what a failed or ' +
      'killed install left in `DATA_FILES`, so do not use it for plugins whose uninstall reads something there, or ' +
      'which store the path in their database.',
    false,
  ),
  limits: filled('Of every script run.', {
    cpu: optional(integer('Seconds of processor time.', { minimum: 1, maximum: 31_536_000 })),
    fileSize: optional(integer('Bytes of any one file that it writes.', { minimum: 1 })),
  }),
  token: optional(secret('Bearer token that the plugin server wants; `pluginHost.token` when absent.', TOKEN_LENGTH)),
});
export type PluginFile = Loaded<typeof plugin>;

export const plugins = map('Plugins by name.', plugin, { minProperties: 1 });
