// The whole file.

import type { SchemaNode } from '../schema-node.ts';
import { access } from './access.ts';
import { containerCore } from './container-core.ts';
import { anyMap, optional, section, text } from './field.ts';
import { handler } from './handler.ts';
import { installer } from './installer.ts';
import type { Loaded } from './loaded.ts';
import { mail } from './mail.ts';
import { pluginHost } from './plugin-host.ts';
import { report } from './report.ts';

const root = section('Configuration of Longshore.', {
  $schema: optional(text('URL of the JSON Schema, for editors.', { format: 'uri' })),
  definitions: optional(anyMap('Values to be shared by YAML anchors and aliases; not read otherwise.')),
  containerCore,
  installer,
  pluginHost: optional(pluginHost),
  handler: optional(handler),
  report: optional(report),
  access: optional(access),
  mail: optional(mail),
});
export type RootFile = Loaded<typeof root>;

/** As the loader, the printer and the editors read it. */
export const ROOT_SCHEMA = root as SchemaNode;
