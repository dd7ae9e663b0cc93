// `pluginHost`: our server side of the plugin protocol (ours).

import { derived, formed, list, optional, secret, section, text } from './field.ts';
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
});
export type PluginHostConfiguration = Loaded<typeof pluginHost>;
