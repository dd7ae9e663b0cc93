// `installer.plugins`: which plugin server serves which data types. `timeouts`, `staging`, `limits` and `token` are ours.
// `pluginHost`: our server side of the plugin protocol (ours).

import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
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
  size,
  text,
  UNITS_ALLOWED,
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
    maxDuration: duration('Maximum duration of one run.', '1h', { positive: true }),
    pathOverride: optional(
      formed<string>('uri-path', "Path of the script, instead of the plugin host's default.", {
        format: 'uri-reference',
      }),
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
  typeChangesEnabled: flag('Allow a revision to change the data type.', false),
  maxFileSize: derived(
    size('Maximum bytes per file; capped by `restService.maxUploadSize`.', {
      minimum: 0,
      exclusiveMaximum: INT64_END,
      'x-allowed': `a size 0..9223372036854775807${UNITS_ALLOWED}`,
    }),
    '`restService.maxUploadSize`',
  ),
  allowedFileExtensions: list(
    'Allowed extensions of single files; empty allows any. Archives are always accepted and not listed here.',
    text('Extension.', { pattern: '^\\..', 'x-allowed': "text that starts with a dot and goes on, such as '.txt'" }),
    { uniqueItems: true, default: [] },
  ),
  usesDataProperties: flag('Datasets of this type need data properties files.', false),
  projectIds: list('Targets that accept the type; empty allows any.', targetIdField('A target.'), { default: [] }),
});

const plugin = section('A plugin server. Its key names it in logs, metrics and `longshore plugin --id`.', {
  server: address('The plugin server.', DEFAULT_PLUGIN_PORT),
  dataTypes: list('Data types that it handles.', dataType, { minItems: 1, uniqueItems: true }),
  customPath: optional(formed<string>('search-path', 'Additional PATH directories for its scripts, colon-separated.')),
  installRoot: formed<string>('uri-path', 'Directory above the site build, where scripts see it.', {
    default: '/datasets',
    format: 'uri-reference',
  }),
  scripts,
  timeouts: filled('Timeouts of our calls to the plugin server.', {
    connect: duration('For connecting.', '10s', TIMEOUT),
    reply: duration(
      "For the start of the reply, in addition to the total `maxDuration` of the call's scripts.",
      '60s',
      TIMEOUT,
    ),
    idle: duration('For a body that makes no progress.', '60s', TIMEOUT),
  }),
  staging: flag(
    'Install into a sibling directory and rename it, so that sites never see a partial install. Files that a failed or killed install left in `DATA_FILES` are lost, so do not use it for plugins whose uninstall reads them, or that store the path in their database.',
    false,
  ),
  limits: filled('Limits of every script run.', {
    cpu: optional(integer('CPU seconds.', { minimum: 1, maximum: 31_536_000 })),
    fileSize: optional(size('Maximum bytes of one file that the script writes.', { minimum: 1 })),
  }),
  token: optional(secret('Bearer token that the plugin server requires. Default: `pluginHost.token`.', TOKEN_LENGTH)),
});
export type PluginFile = Loaded<typeof plugin>;

export const plugins = map('Plugins by name.', plugin, { minProperties: 1 });

export const pluginHost = section('Runs plugin scripts behind the plugin protocol.', {
  token: optional(
    secret('Bearer token required by `/import`, `/install*` and `/uninstall`. If absent, they are open.', TOKEN_LENGTH),
  ),
  bindHost: derived(formed<string>('bind-host', 'Address to listen on.'), '`containerCore.http.bindHost`'),
  workspace: optional(
    formed<string>(
      'path',
      "Directory of the scripts' workspaces. Default: the system's directory for temporary files.",
    ),
  ),
  inProcess: list(
    'Plugins that `serve` hosts itself, on port `containerCore.ports.pluginHost`. If `plugins.*.server` is this port on this machine, its lanes call them without HTTP.',
    text('Key of a plugin.'),
    {
      uniqueItems: true,
      default: [],
    },
  ),
  installed: filled(
    'Who may read installed files. Folders get mode 0750 and files 0640, or fewer permissions if the script set fewer.',
    {
      group: optional(
        text('Group of the installed files: a name in /etc/group or a number. The plugin host must be a member.', {
          minLength: 1,
          maxLength: 64,
        }),
      ),
      others: flag('Let all local accounts read installed files: folders 0755, files 0644.', false),
    },
  ),
  limits: filled(
    'Limits of one plugin host. Further calls get 503 with `Retry-After`; lanes of the same process wait instead.',
    {
      scripts: integer('Scripts that run at the same time.', { minimum: 1, maximum: 1_000, default: 10 }),
      calls: integer('Concurrent calls, including those that still send their body or wait for a script slot.', {
        minimum: 1,
        maximum: 10_000,
        default: 60,
      }),
      wait: duration(
        'How long a call waits for a script slot. Keep it below `plugins.*.timeouts.reply`, or our own callers time out first. Other installers wait forever, but treat a 503 as final.',
        '30s',
        { positive: true },
      ),
    },
  ),
});
export type PluginHostConfiguration = Loaded<typeof pluginHost>;

/** Bounds the cost of unpacking a user's archive. Bytes are bounded elsewhere, but even a small archive can be expensive. */
export const archives = filled('Limits for unpacking one uploaded archive.', {
  maxEntries: integer('Entries, folders included.', { minimum: 1, maximum: MAX_ENTRIES, default: 10_000 }),
  maxNamesSize: size('Bytes of the names of all entries.', {
    minimum: 1_024,
    maximum: 67_108_864,
    default: 2_097_152,
  }),
  maxDuration: duration('Time, including writing the extracted files.', '15m', { positive: true }),
});
