// `pluginHost`: our server side of the plugin protocol (ours).

import { derived, duration, filled, flag, formed, integer, list, optional, secret, section, text } from './field.ts';
import type { Loaded } from './loaded.ts';
import { TOKEN_LENGTH } from './plugins.ts';

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
