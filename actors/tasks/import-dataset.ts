// Thread side of the import lane: streams the upload to the plugin and splits its reply.

import { join } from 'node:path';
import type { DatasetMetadata, Manifest } from '../../engine/model/metadata.ts';
import type { PluginCall, PluginFailure, Validation } from '../../engine/ports/plugin-client.ts';
import { splitImportReply } from './split-import-reply.ts';
import { type ObjectFile, pluginOf, streamed, type TaskContext } from './task-context.ts';

export interface ImportDatasetInput extends PluginCall {
  readonly plugin: string;
  readonly metadata: DatasetMetadata;
  readonly payload: ObjectFile;
  readonly scratchDir: string;
}

export type ImportDatasetOutput =
  /** `dataFile` is the install-ready archive, in the scratch folder. */
  | {
      readonly kind: 'success';
      readonly manifest: Manifest;
      readonly validation: Validation;
      readonly dataFile: string;
    }
  | { readonly kind: 'invalid'; readonly validation: Validation }
  | PluginFailure;

export async function importDataset(input: ImportDatasetInput, context: TaskContext): Promise<ImportDatasetOutput> {
  const reply = await pluginOf(context, input.plugin).import(
    {
      eventId: input.eventId,
      dataset: input.dataset,
      traceparent: input.traceparent,
      metadata: input.metadata,
      payload: streamed(input.payload, context),
      replyFile: join(input.scratchDir, 'reply.zip'),
    },
    context.signal,
  );
  if (reply.kind !== 'success') return reply;
  const { manifest, validation, dataFile } = await splitImportReply(
    { replyFile: reply.replyFile, scratchDir: input.scratchDir },
    context,
  );
  return { kind: 'success', manifest, validation, dataFile };
}
