// Commands for the operator of a machine: configurations, databases, tokens, and tasks that no API offers.

import { QUERY_PROGRAMS, type QueryProgram } from '../../../engine/model/report/query-job.ts';
import { command } from '../command.ts';
import { CONFIG_INIT } from './config-init.ts';
import { CONFIG, CONFIG_INSTEAD, DATA, JSON_OUTPUT, QUIET } from './shared-options.ts';

const FILE = { file: { path: 'file', what: 'the configuration file' } } as const;
const PROGRAMS = Object.keys(QUERY_PROGRAMS) as readonly QueryProgram[];

export const CONFIG_CHECK = command({
  summary: 'check a configuration file, and the files and programs that it names',
  description: [
    'Reports every error with its line, and what is allowed. Nothing is contacted; that is what doctor does.',
  ],
  arguments: FILE,
  options: { json: JSON_OUTPUT },
  examples: [{ run: 'config check longshore.yaml', what: 'before a start or a reload' }],
  exitCodes: { 3: 'the file has errors' },
  load: async () => (await import('../../commands/config.ts')).check,
});

export const CONFIG_PRINT = command({
  summary: 'print a configuration file with all defaults, without secrets',
  arguments: FILE,
  options: { json: JSON_OUTPUT },
  examples: [{ run: 'config print longshore.yaml', what: 'shows every setting that is in force' }],
  exitCodes: { 3: 'the file has errors' },
  load: async () => (await import('../../commands/config.ts')).print,
});

export const CONFIG_SCHEMA = command({
  summary: 'print the JSON Schema of the configuration, for editors',
  arguments: {},
  options: { json: { type: 'boolean', what: 'no effect, because the schema is JSON anyway' } },
  examples: [{ run: 'config schema > longshore.schema.json', what: 'an editor completes and checks the file with it' }],
  load: async () => (await import('../../commands/config.ts')).schema,
});

export const CONFIG_REFERENCE = command({
  summary: 'print the reference of all settings, as Markdown',
  arguments: {},
  options: {},
  examples: [
    { run: 'config reference | less', what: 'shows what each setting does, what is allowed, and its default' },
  ],
  load: async () => (await import('../../commands/config.ts')).printReference,
});

export const CONFIG_GROUP = {
  summary: 'write, check, print or document a configuration file',
  commands: {
    init: CONFIG_INIT,
    check: CONFIG_CHECK,
    schema: CONFIG_SCHEMA,
    reference: CONFIG_REFERENCE,
    print: CONFIG_PRINT,
  },
} as const;

export const DOCTOR = command({
  summary: 'check every dependency of a configuration, and suggest fixes',
  description: [
    'Connects to each database, store, broker, directory and server that the file names. It changes nothing.',
  ],
  arguments: {},
  options: { config: CONFIG, json: JSON_OUTPUT },
  examples: [{ run: 'doctor --config longshore.yaml', what: 'checks one dependency per line' }],
  exitCodes: { 4: 'a check failed' },
  load: async () => (await import('../../commands/doctor.ts')).doctor,
});

export const MIGRATE = command({
  summary: 'migrate the databases of the services',
  description: [
    'These are the cache database, and the databases of the report and access services if the file has them. The services do ' +
      'the same when they start.',
  ],
  arguments: {},
  options: { config: CONFIG, json: JSON_OUTPUT, quiet: QUIET },
  examples: [{ run: 'migrate --config longshore.yaml', what: 'before the first start' }],
  load: async () => (await import('../../commands/migrate.ts')).migrateCommand,
});

export const MIGRATE_TARGET = command({
  summary: "migrate an install target's control schema",
  description: ['No service does this by itself, because a site may share the database.'],
  arguments: { target: { what: 'the id of an enabled install target of the file' } },
  options: { config: CONFIG, json: JSON_OUTPUT, quiet: QUIET },
  examples: [{ run: 'migrate-target AlphaDB --config longshore.yaml', what: 'migrates one target' }],
  load: async () => (await import('../../commands/migrate.ts')).migrateTargetCommand,
});

export const TOKEN = command({
  summary: 'print a bearer token from the local issuer',
  description: ['The token is valid for 24 hours. It needs the private key, which only the operator can read.'],
  arguments: {},
  options: {
    data: DATA,
    config: {
      ...CONFIG_INSTEAD,
      otherwise: 'the key in the data directory',
      what: 'a configuration file that names the private key of the issuer, instead of --data',
    },
    user: { type: 'string', value: 'N', required: true, what: 'the id of the user' },
    guest: { type: 'boolean', what: 'the token of a guest' },
    'given-name': { type: 'string', value: 'TEXT', otherwise: 'not in the token', what: "the user's given name" },
    'family-name': { type: 'string', value: 'TEXT', otherwise: 'not in the token', what: "the user's family name" },
    email: { type: 'string', value: 'ADDRESS', otherwise: 'not in the token', what: "the user's email address" },
    json: JSON_OUTPUT,
  },
  examples: [{ run: 'token --data /tmp/longshore --user 42', what: "for 'longshore up' on this machine" }],
  load: async () => (await import('../../commands/token.ts')).token,
});

export const ACCESS_IMPORT = command({
  summary: 'add or replace curated datasets of the dataset access service',
  arguments: { file: { path: 'file', what: 'a YAML file of datasets, such as config/samples/access-studies.yaml' } },
  options: { data: DATA, config: CONFIG_INSTEAD, json: JSON_OUTPUT },
  examples: [{ run: 'access import studies.yaml --config longshore.yaml', what: 'says how many are new or changed' }],
  load: async () => (await import('../../commands/access.ts')).importStudies,
});

export const ACCESS_MAIL = command({
  summary: "list the mails that 'longshore up' stores as files",
  arguments: {},
  options: { data: DATA, json: JSON_OUTPUT },
  examples: [{ run: 'access mail --data /tmp/longshore', what: 'shows recipients, subjects and files' }],
  load: async () => (await import('../../commands/access.ts')).mail,
});

export const ACCESS_RETRY_MAILS = command({
  summary: 'retry mails that could not be sent',
  description: ['A running server sends them within seconds. Each has all its attempts again.'],
  arguments: {},
  options: {
    discard: { type: 'boolean', what: 'remove them instead' },
    data: DATA,
    config: CONFIG_INSTEAD,
    json: JSON_OUTPUT,
  },
  examples: [{ run: 'access retry-mails --config longshore.yaml', what: 'says how many will be sent' }],
  load: async () => (await import('../../commands/access.ts')).retryMails,
});

export const ACCESS = {
  summary: 'import curated datasets, list stored mails, or retry mails',
  commands: { import: ACCESS_IMPORT, mail: ACCESS_MAIL, 'retry-mails': ACCESS_RETRY_MAILS },
} as const;

export const QUERY_RUN = command({
  summary: 'run a BLAST+ search, and store its result for reports',
  description: [
    'Prints the id of the query job, which report jobs refer to. The same search has the same id and does not run again.',
  ],
  arguments: {},
  options: {
    program: {
      type: 'string',
      value: 'NAME',
      values: PROGRAMS,
      required: true,
      what: 'the BLAST+ program',
    },
    db: {
      type: 'string',
      value: 'NAME|PATH',
      multiple: true,
      required: true,
      what: 'a BLAST database; several are searched as one',
    },
    query: { type: 'string', value: 'FILE', path: 'file', required: true, what: 'a FASTA file of sequences' },
    'max-target-seqs': {
      type: 'string',
      value: 'N',
      otherwise: "the program's own",
      what: 'how many matching sequences to keep',
    },
    data: DATA,
    config: CONFIG_INSTEAD,
    json: JSON_OUTPUT,
  },
  examples: [
    { run: 'query run --program blastn --db subjects --query genes.fa', what: 'a database in report.blastDb' },
  ],
  load: async () => (await import('../../commands/query.ts')).runSearch,
});

export const QUERY = { summary: 'run a BLAST+ search for use in reports', commands: { run: QUERY_RUN } } as const;
