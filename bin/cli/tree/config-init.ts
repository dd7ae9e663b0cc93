// `longshore config init`. Its options are also the answers to its questions (bin/cli/config-init/answers.ts).

import { command, type OptionSpecs } from '../command.ts';
import { JSON_OUTPUT } from './shared-options.ts';

const ADDRESS = { type: 'string', value: 'HOST:PORT' } as const;

/** None has a default: what is not given is asked for, or the answers know what to write. */
export const INIT_OPTIONS = {
  force: { type: 'boolean', what: 'replace the file if it exists; secrets are kept' },
  name: { type: 'string', value: 'NAME', otherwise: 'longshore', what: 'the name of roles and databases' },
  db: { ...ADDRESS, otherwise: '127.0.0.1:5432', what: 'the PostgreSQL server' },
  objects: {
    type: 'string',
    value: 'DIR',
    path: 'directory',
    otherwise: 'objects, beside the file; with --object-store none',
    what: 'the directory of the object store',
  },
  'object-store': { ...ADDRESS, otherwise: 'a directory of this machine', what: 'the S3 server to store objects in' },
  bucket: { type: 'string', value: 'NAME', otherwise: 'none; required with --object-store', what: 'the S3 bucket' },
  rabbitmq: {
    ...ADDRESS,
    otherwise: 'none; required with --object-store',
    what: 'the RabbitMQ server that the bucket notifies',
  },
  'rabbitmq-user': {
    type: 'string',
    value: 'NAME',
    otherwise: 'longshore; only with --object-store',
    what: 'the user of RabbitMQ',
  },
  kafka: {
    type: 'string',
    value: 'HOST:PORT,..',
    otherwise: 'events go through PostgreSQL',
    what: 'the Kafka servers',
  },
  target: { type: 'string', value: 'ID', multiple: true, otherwise: 'SiteA', what: 'an install target' },
  plugin: {
    type: 'string',
    value: 'NAME[=HOST:PORT]',
    multiple: true,
    otherwise: 'genelist',
    what: 'a plugin; without an address, this process runs its scripts',
  },
  issuer: {
    type: 'string',
    value: 'TEXT',
    otherwise: "tokens come from 'longshore token'",
    what: "the issuer of the users' tokens",
  },
  jwks: { type: 'string', value: 'URL', otherwise: 'none; required with --issuer', what: "the issuer's key set" },
  audience: {
    type: 'string',
    value: 'TEXT',
    otherwise: 'none; required with --issuer',
    what: 'the audience that tokens must have',
  },
  access: { type: 'boolean', what: 'configure the dataset access service' },
  report: {
    type: 'string',
    value: 'DIR',
    path: 'directory',
    otherwise: 'no report service',
    what: 'the directory of the query jobs; configures the report service',
  },
  handler: {
    type: 'string',
    value: 'FILE',
    path: 'file',
    otherwise: 'no handler service',
    what: 'the command to run; configures the handler service',
  },
  'port-base': { type: 'string', value: 'N', otherwise: '8080', what: 'the first of five ports to listen on' },
} as const satisfies OptionSpecs;

export const CONFIG_INIT = command({
  summary: 'write a new configuration file for real services',
  description: [
    'Asks on a terminal if no option but --force is given. Secrets become files of their own (mode 0600), in the folder ' +
      "'secrets' beside the file; the environment gives those that only you know: S3_ACCESS_KEY, S3_SECRET_KEY, RABBITMQ_PASSWORD.",
    'Also writes the SQL that creates the roles and databases, and prints the commands to run next.',
  ],
  arguments: { file: { path: 'file', what: 'the file to write' } },
  options: { ...INIT_OPTIONS, json: JSON_OUTPUT },
  examples: [
    { run: 'config init longshore.yaml', what: 'asks what is needed' },
    { run: 'config init longshore.yaml --db 127.0.0.1:5432 --target SiteA', what: 'asks nothing' },
  ],
  exitCodes: { 3: 'the written file would have errors, such as a missing program' },
  load: async () => (await import('../../commands/config.ts')).init,
});
