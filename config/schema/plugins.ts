// `installer.plugins`: which plugin server serves which data types. `timeouts`, `staging`, `limits` and `token` are ours.
// `pluginHost`: our server side of the plugin protocol (ours).

import {
  address,
  derived,
  duration,
  filled,
  flag,
  formed,
  integer,
  type Loaded,
  list,
  map,
  optional,
  secret,
  section,
  text,
  version,
} from './field.ts';
import { targetIdField } from './install-targets.ts';

/** The first value above a signed 64-bit integer. */
const INT64_END = 2 ** 63;
export const TOKEN_LENGTH = 16;
const TIMEOUT = { positive: true, 'x-live': 'plugin-timeouts' } as const;
const DEFAULT_PLUGIN_PORT = 80;

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

export const pluginHost = section('Runs plugin scripts behind the plugin protocol.', {
  token: optional(
    secret('Bearer token that `/import`, `/install*` and `/uninstall` need; open when absent.', TOKEN_LENGTH),
  ),
  bindHost: derived(formed<string>('bind-host', 'Address to listen on.'), '`containerCore.http.bindHost`'),
  workspace: optional(
    formed<string>('path', "Directory of the scripts' workspaces; the system's for temporary files."),
  ),
  inProcess: list('Plugins that `serve` hosts itself, on `containerCore.ports.pluginHost`.', text('Key of a plugin.'), {
    uniqueItems: true,
    default: [],
  }),
  installed: filled(
    'Who may read what is installed. Folders are 0750 and files 0640, whatever modes scripts gave them, or less where they ' +
      'gave less.',
    {
      group: optional(
        text(
          'Group of the installed files, by its name in /etc/group or its number. The host has to be a member of it.',
          {
            minLength: 1,
            maxLength: 64,
          },
        ),
      ),
      others: flag('Every account of the machine may read what the group may: folders are 0755, files 0644.', false),
    },
  ),
  limits: filled(
    'Of one host. A call beyond them is answered 503 with `Retry-After`; lanes of the same process wait instead.',
    {
      scripts: integer('Scripts at a time.', { minimum: 1, maximum: 1_000, default: 10 }),
      calls: integer('Calls at a time, with those that send their body or wait for a script to end.', {
        minimum: 1,
        maximum: 10_000,
        default: 60,
      }),
      wait: duration(
        'Longest wait of a call for its turn. Longer than `plugins.*.timeouts.reply`, our own callers give up before; other ' +
          'installers wait without end and give up at a 503.',
        '30s',
        { positive: true },
      ),
    },
  ),
});
export type PluginHostConfiguration = Loaded<typeof pluginHost>;

/** Bounds the cost of unpacking a user's archive. Bytes are bounded elsewhere, but even a small archive can be expensive. */
export const archives = filled('What unpacking one archive of a user may cost; more is refused.', {
  maxEntries: integer('Entries, folders included.', { minimum: 1, maximum: 100_000, default: 10_000 }),
  maxNamesSize: integer('Bytes of the names of all entries.', {
    minimum: 1_024,
    maximum: 67_108_864,
    default: 2_097_152,
  }),
  maxDuration: duration('Time, with that of writing what comes out.', '15m', { positive: true }),
});
