// `longshore datasets revise|delete|undelete|share`: an owner's changes to an existing dataset.

import { systemClock } from '../../engine/runtime/time.ts';
import { type ClientValues, openClient } from '../cli/client/client-options.ts';
import { deadlineOf, FOLLOW_OPTIONS, FOLLOW_USAGE, type FollowValues, follow } from '../cli/client/follow.ts';
import type { UploadSource } from '../cli/client/installer-client.ts';
import { showUpload } from '../cli/client/show-transfer.ts';
import { checkInputs, readDetails } from '../cli/client/upload-inputs.ts';
import { type CommandIo, EXIT, type ExitCode } from '../cli/command.ts';
import { jsonLine } from '../cli/terminal/json-text.ts';
import { oneLine } from '../cli/terminal/plain-text.ts';
import { UsageError } from '../cli/usage-error.ts';

export const CHANGE_OPTIONS = {
  ...FOLLOW_OPTIONS,
  note: { type: 'string' },
  origin: { type: 'string', default: 'direct-upload' },
  details: { type: 'string', path: 'file' },
  url: { type: 'string' },
  watch: { type: 'boolean', default: false },
  with: { type: 'string' },
  revoke: { type: 'boolean', default: false },
} as const;

export const CHANGE_USAGE =
  `revise ID FILE.. --note TEXT [--details FILE.json] [--url URL] [--origin ..] [--watch ${FOLLOW_USAGE}] | ` +
  'delete ID | undelete ID | share ID --with USER [--revoke]';

export interface ChangeValues extends ClientValues, FollowValues {
  readonly note?: string | undefined;
  readonly origin: string;
  readonly details?: string | undefined;
  readonly url?: string | undefined;
  readonly watch: boolean;
  readonly with?: string | undefined;
  readonly revoke: boolean;
}

/** Uploads a new revision and prints its id. `--details` contains the changes, as in a PATCH: `{"name": {"value": ..}}`. */
export async function revise(
  id: string,
  files: readonly string[],
  values: ChangeValues,
  io: CommandIo,
): Promise<ExitCode> {
  if (values.note === undefined) throw new UsageError('--note TEXT is required: what is new in this revision');
  await checkInputs(files, values.url);
  deadlineOf(values);
  const changes = await readDetails(values.details);
  const details = { origin: values.origin, ...changes, revisionNote: values.note };
  const client = await openClient(values, io);
  const send = (source: UploadSource) => client.revise(id, details, source, io.signal);
  const revision = await showUpload(files, values.url, send, values, io, systemClock);
  io.out(values.json ? jsonLine({ datasetId: revision }) : `${oneLine(revision)}\n`);
  if (!values.watch) return EXIT.ok;
  const ending = await follow(client, revision, values, io, systemClock, io.signal);
  return ending === 'installed' ? EXIT.ok : EXIT.failed;
}

export async function remove(id: string, values: ChangeValues, io: CommandIo): Promise<ExitCode> {
  await (await openClient(values, io)).delete(id, io.signal);
  return done(id, 'deleted', values, io);
}

export async function undelete(id: string, values: ChangeValues, io: CommandIo): Promise<ExitCode> {
  await (await openClient(values, io)).undelete(id, io.signal);
  return done(id, 'undeleted', values, io);
}

export async function share(id: string, values: ChangeValues, io: CommandIo): Promise<ExitCode> {
  const { with: user, revoke } = values;
  if (user === undefined) throw new UsageError('--with USER is required: the id of the other user');
  await (await openClient(values, io)).offer(id, user, revoke ? 'revoke' : 'grant', io.signal);
  return done(id, revoke ? `no longer offered to ${user}` : `offered to ${user}`, values, io);
}

function done(id: string, what: string, values: ChangeValues, io: CommandIo): ExitCode {
  io.out(values.json ? jsonLine({ datasetId: id }) : `${id} ${what}\n`);
  return EXIT.ok;
}
