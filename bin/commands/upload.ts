// `longshore upload`: uploads files with their details and prints the dataset's id.

import { systemClock } from '../../engine/runtime/time.ts';
import { parse } from '../cli/arguments.ts';
import { CLIENT_OPTIONS, CLIENT_USAGE, openClient } from '../cli/client/client-options.ts';
import { deadlineOf, FOLLOW_OPTIONS, FOLLOW_USAGE, finishUpload, follow } from '../cli/client/follow.ts';
import type { UploadSource } from '../cli/client/installer-client.ts';
import { checkInputs, readDetails, showUpload } from '../cli/client/transfer.ts';
import { type Command, EXIT, UsageError } from '../cli/command.ts';

const OPTIONS = {
  ...CLIENT_OPTIONS,
  ...FOLLOW_OPTIONS,
  type: { type: 'string' },
  target: { type: 'string', multiple: true },
  name: { type: 'string' },
  summary: { type: 'string' },
  description: { type: 'string' },
  visibility: { type: 'string', values: ['private', 'protected', 'public', 'controlled'] },
  origin: { type: 'string', default: 'direct-upload' },
  details: { type: 'string', path: 'file' },
  url: { type: 'string' },
  watch: { type: 'boolean', default: false },
} as const;

export const upload: Command = {
  name: 'upload',
  usage:
    'longshore upload FILE.. --type NAME@VERSION --target ID.. --name .. --summary .. [--description ..] ' +
    `[--visibility private|protected|public|controlled] [--origin ..] [--details FILE.json] [--url URL] [--watch ${FOLLOW_USAGE}] ${CLIENT_USAGE}`,
  options: OPTIONS,
  files: true,
  async run(args, io) {
    const { values, positionals: files } = parse(args, OPTIONS);
    await checkInputs(files, values.url);
    deadlineOf(values);
    const client = await openClient(values, io);
    const details = await detailsOf(values);
    const send = (source: UploadSource) => client.upload(details, source, io.signal);
    const id = await showUpload(files, values.url, send, values, io, systemClock);
    return finishUpload(client, id, values, io);
  },
};

/** The JSON of `--details`; options on the command line override it. */
async function detailsOf(values: {
  readonly type?: string | undefined;
  readonly target?: string[] | undefined;
  readonly name?: string | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly visibility?: string | undefined;
  readonly origin: string;
  readonly details?: string | undefined;
}): Promise<object> {
  const base = await readDetails(values.details);
  const given = {
    ...(values.type === undefined ? {} : { type: typeOf(values.type) }),
    ...(values.target === undefined ? {} : { installTargets: values.target }),
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

const WATCH_OPTIONS = { ...CLIENT_OPTIONS, ...FOLLOW_OPTIONS } as const;

export const watch: Command = {
  name: 'watch',
  usage: `longshore watch ID ${FOLLOW_USAGE} ${CLIENT_USAGE}`,
  options: WATCH_OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, WATCH_OPTIONS);
    const [id, ...rest] = positionals;
    if (id === undefined || rest.length > 0) throw new UsageError('expected one dataset ID');
    const client = await openClient(values, io);
    const ending = await follow(client, id, values, io, systemClock, io.signal);
    if (!values.json) io.out(`${ending}\n`);
    return ending === 'installed' ? EXIT.ok : EXIT.failed;
  },
};
