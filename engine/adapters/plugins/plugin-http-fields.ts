// The content of the plugin protocol's calls: fields as JSON, and the parts besides them.

import { parseJson, stringifyJson } from '../../model/json.ts';
import type { PluginCall, PluginClient, StreamedFile } from '../../ports/plugin-client.ts';
import type { Part } from './plugin-http-multipart.ts';

export const ids = (call: PluginCall): Record<string, string | number> => ({
  'event-id': call.eventId,
  'vdi-id': call.dataset,
});

/** A JSON object of plain values and of values that are JSON text already, so that user ids keep all digits. */
export function fields(
  values: Readonly<Record<string, string | number>>,
  documents: Readonly<Record<string, string>>,
): string {
  const plain = Object.entries(values).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const nested = Object.entries(documents).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  return `{${[...plain, ...nested].join(',')}}`;
}

/** Stored documents are indented for people; plugin servers get them compact. */
export const compact = (json: string): string => stringifyJson(parseJson(json));

export const propertiesPart = (file: StreamedFile): Part => ({
  name: 'dataProperties',
  file,
  fileName: file.name,
  contentType: 'application/octet-stream',
});

export const uninstallBody = (call: Parameters<PluginClient['uninstall']>[0]): string =>
  fields(
    { ...ids(call), 'install-target': call.target },
    { type: JSON.stringify({ name: call.type.name, version: call.type.version }) },
  );
