// `longshore upload`: uploads files with their details and prints the dataset's id.

import { systemClock } from '../../engine/runtime/time.ts';
import { implement } from '../cli/arguments.ts';
import { openClient } from '../cli/client/client-options.ts';
import { deadlineOf, finishUpload, follow } from '../cli/client/follow.ts';
import type { UploadSource } from '../cli/client/installer-client.ts';
import { checkInputs, readDetails, showUpload } from '../cli/client/transfer.ts';
import { type Command, EXIT, type OptionValues, UsageError } from '../cli/command.ts';
import { UPLOAD, WATCH } from '../cli/tree/datasets.ts';

export const upload: Command = implement(UPLOAD, async ({ values, args: { file: files } }, io) => {
  await checkInputs(files, values.url);
  deadlineOf(values);
  const client = await openClient(values, io);
  const details = await detailsOf(values);
  const send = (source: UploadSource) => client.upload(details, source, io.signal);
  const id = await showUpload(files, values.url, send, values, io, systemClock);
  return finishUpload(client, id, values, io);
});

/** The JSON of `--details`; options on the command line override it. */
async function detailsOf(values: OptionValues<typeof UPLOAD.options>): Promise<object> {
  const base = await readDetails(values.details);
  const given = {
    ...(values.type === undefined ? {} : { type: typeOf(values.type) }),
    ...(values.target.length === 0 ? {} : { installTargets: values.target }),
    ...(values.name === undefined ? {} : { name: values.name }),
    ...(values.summary === undefined ? {} : { summary: values.summary }),
    ...(values.description === undefined ? {} : { description: values.description }),
    ...(values.visibility === undefined ? {} : { visibility: values.visibility }),
  };
  return { origin: values.origin, dependencies: [], ...base, ...given };
}

function typeOf(text: string): { name: string; version: string } {
  const [name, version, ...rest] = text.split('@');
  if (!name || !version || rest.length > 0)
    throw new UsageError(`--type '${text}': must be NAME@VERSION, for example genelist@1.0`);
  return { name, version };
}

// `longshore watch`: follows a dataset until it is installed or has failed.

export const watch: Command = implement(WATCH, async ({ values, args: { id } }, io) => {
  const client = await openClient(values, io);
  const ending = await follow(client, id, values, io, systemClock, io.signal);
  if (!values.json) io.out(`${ending}\n`);
  return ending === 'installed' ? EXIT.ok : EXIT.failed;
});
