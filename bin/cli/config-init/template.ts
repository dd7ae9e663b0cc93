// The text of a new configuration file, with comments, and the SQL that makes its roles and databases.

import { stringify } from 'yaml';
import { parseAddress } from '../../../config/address.ts';
import { type Answers, type PluginAnswer, schemaBase } from './answers.ts';

/** One value as YAML, quoted where necessary. */
const q = (value: string): string => stringify(value, { lineWidth: 0 }).trimEnd();
const secret = (name: string): string => `\${file:${SECRETS}/${name}}`;
const indent = (text: string, by: number): string => text.replaceAll(/^(?=.)/gm, ' '.repeat(by));

/** Folder beside the file. */
export const SECRETS = 'secrets';
/** Folder beside the file where datasets are installed, if this process runs plugins. */
export const SITES = 'sites';
export const SITE_BUILD = 'build-1';
/** Beside the file. */
export const PUBLIC_KEY = 'token-key.pub.pem';
/** Among the secrets. */
export const PRIVATE_KEY = 'token-key.pem';
const POSTGRES_PORT = 5432;

export const siteDatabase = ({ name }: Answers): string => `${name}_sites`;
export const dataRole = ({ name }: Answers): string => `${name}_data`;
export const hosted = ({ plugins }: Answers): readonly PluginAnswer[] =>
  plugins.filter(({ server }) => server === undefined);

/** @param scripts paths of the scripts of hosted plugins, by plugin and key */
export function configText(
  file: string,
  answers: Answers,
  scripts: Readonly<Record<string, Readonly<Record<string, string>>>>,
): string {
  const { name, db, targets, plugins, portBase, access, report, handler } = answers;
  const parts = [
    `# Written by \`longshore config init\`, and yours from then on.
#   longshore config check ${file}   checks it
#   longshore config reference   describes every key
# Relative paths start at this file's folder. Secrets are in ${SECRETS}/, one in each file; \${env:NAME} reads a variable instead.

containerCore:
  authentication:
    # The header \`Admin-Token\` of administrators.
    adminToken: ${secret('admin-token')}
    oauth:
${indent(oauthText(answers), 6)}
  http:
    # Put a proxy with TLS in front, or set \`tls\` here. 0.0.0.0 listens on every address.
    bindHost: 127.0.0.1
  ports:
    installer: ${portBase}
    handler: ${portBase + 1}
    report: ${portBase + 2}
    access: ${portBase + 3}
    pluginHost: ${portBase + 4}

installer:
  # Datasets are installed into {installRoot of the plugin}/${SITE_BUILD}/{target}/{dataset}.
  siteBuild: ${SITE_BUILD}

  # Index, jobs, leases and accounts. \`longshore migrate\` makes the tables.
  cacheDb:
    server: ${q(db)}
    name: ${name}
    username: ${name}
    password: ${secret('db-password')}
    # tls: true

  restService:
    # GB is 10^9 bytes, GiB is 2^30.
    maxUploadSize: 1GiB
    userMaxStorageSize: 10GiB

${indent(storeText(answers), 2)}

${indent(eventsText(answers), 2)}

  # Sites. \`longshore migrate-target ID\` makes the control tables; plugins make those of the data.
  installTargets:
${indent(targets.map((target) => targetText(answers, target)).join('\n'), 4)}

  plugins:
${indent(plugins.map((plugin) => pluginText(answers, plugin, scripts[plugin.name])).join('\n'), 4)}
`,
    hosted(answers).length > 0
      ? `# Runs the scripts of plugins in this process. \`longshore plugin --config FILE --id NAME\` runs one elsewhere.
pluginHost:
  token: ${secret('plugin-token')}
  inProcess:
${hosted(answers)
  .map((plugin) => `    - ${plugin.name}\n`)
  .join('')}`
      : '',
    access
      ? `# Who may see which dataset: requests, grants, invitations. Its tables are in the cache database. With \`mail\` it sends
# mails, and needs siteUrl and supportEmail.
access:
  autoApproval:
    enabled: true
`
      : '',
    report === undefined
      ? ''
      : `# Formats reports of earlier BLAST+ searches.
report:
  queryJobs:
    # A directory with one directory for each search.
    root: ${q(report)}
  # blastBin: /usr/bin
  # blastDb: /srv/blast
`,
    handler === undefined
      ? ''
      : `# Runs commands on uploaded archives.
handler:
  serviceName: handler
  port: ${portBase + 1}
  # Callers of /job send it as bearer token.
  token: ${secret('handler-token')}
  configPath: ${q(file)}
  commands:
    - command: ${q(handler)}
      arguments:
        - <<input-files>>
      maxDuration: 1h
`,
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function oauthText({ oauth }: Answers): string {
  if (!oauth)
    return `# \`longshore token --config FILE --user N\` issues tokens. For users of a site, use its issuer:
#   issuer, audience, and jwksUrl instead of publicKeyFile and privateKeyFile
issuer: longshore-local
publicKeyFile: ${PUBLIC_KEY}
privateKeyFile: ${SECRETS}/${PRIVATE_KEY} # servers do not read it`;
  return `issuer: ${q(oauth.issuer)}
audience: ${q(oauth.audience)}
jwksUrl: ${q(oauth.jwks)}`;
}

function storeText({ objects }: Answers): string {
  if ('path' in objects)
    return `# All datasets, in a directory. It must be part of the backup.
objectStore:
  driver: directory
  path: ${q(objects.path)}
queueBroker:
  driver: postgres`;
  return `# All datasets. The bucket exists, and notifies the exchange below of what is created and removed in it.
objectStore:
  server: ${q(objects.s3)}
  bucketName: ${q(objects.bucket)}
  accessToken: ${secret('s3-access-key')}
  secretKey: ${secret('s3-secret-key')}
  # https: false
queueBroker:
  global:
    connection:
      server: ${q(objects.rabbitmq)}
      username: ${q(objects.rabbitmqUser)}
      password: ${secret('rabbitmq-password')}
      # tls: false
    exchange:
      name: object-changes
      type: topic
    queue:
      name: object-changes-of-longshore
    routing:
      key: changes`;
}

function eventsText({ kafka }: Answers): string {
  if (kafka.length === 0)
    return `# Events between processes, in the cache database.
logBroker:
  driver: postgres`;
  return `# Events between processes.
logBroker:
  servers:
${kafka.map((server) => `    - ${q(server)}`).join('\n')}`;
}

function targetText(answers: Answers, target: string): string {
  const at = `server: ${q(answers.db)}
name: ${siteDatabase(answers)}
platform: Postgres`;
  return `- targetId: ${q(target)}
  # Which datasets are installed, for whom. Read by the site.
  controlDb:
${indent(at, 4)}
    username: ${answers.name}
    password: ${secret('db-password')}
    schema: ${schemaBase(target)}_control
  # Where plugins write data. Scripts get this password, so the role may do nothing else.
  dataDb:
${indent(at, 4)}
    username: ${dataRole(answers)}
    password: ${secret('data-db-password')}
    schema: ${schemaBase(target)}_data`;
}

function pluginText(
  answers: Answers,
  { name, server }: PluginAnswer,
  scripts: Readonly<Record<string, string>> = {},
): string {
  const place =
    server === undefined
      ? `server: 127.0.0.1:${answers.portBase + 4} # this process, see pluginHost
installRoot: ${SITES}`
      : `server: ${q(server)}
token: ${secret('plugin-token')}
# installRoot: /datasets # where the plugin server sees the sites`;
  const paths = Object.entries(scripts).map(([key, path]) => `  ${key}:\n    pathOverride: ${q(encodeURI(path))}\n`);
  return `${name}:
${indent(place, 2)}
  dataTypes:
    - name: ${name}
      version: '1.0'
      category: ${name}
${paths.length === 0 ? '' : indent(`scripts:\n${paths.join('')}`, 2)}`.trimEnd();
}

/** For `psql`, as a superuser. It can be run again. The passwords are SQL literals, so the file is a secret too. */
export function databaseSql(answers: Answers, passwords: { readonly service: string; readonly data: string }): string {
  const { host = '', port = POSTGRES_PORT } = parseAddress(answers.db) ?? {};
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const role = (name: string, password: string): string => `
select 'create role ${name} login' where not exists (select from pg_roles where rolname = '${name}') \\gexec
alter role ${name} password ${literal(password)};`;
  const database = (name: string): string => `
select 'create database ${name} owner ${answers.name}' where not exists (select from pg_database where datname = '${name}') \\gexec`;
  const schemas = answers.targets.flatMap((target) => [
    `create schema if not exists ${schemaBase(target)}_control authorization ${answers.name};`,
    `create schema if not exists ${schemaBase(target)}_data authorization ${dataRole(answers)};`,
  ]);
  return `-- Roles, databases and schemas of Longshore. Run it as a superuser; it can be run again:
--   psql -h ${host} -p ${port} -U postgres -f ${SECRETS}/database.sql
-- It contains passwords.
\\set ON_ERROR_STOP on
set standard_conforming_strings = on;
${role(answers.name, passwords.service)}
${role(dataRole(answers), passwords.data)}
${database(answers.name)}
${database(siteDatabase(answers))}

\\connect ${siteDatabase(answers)}
${schemas.join('\n')}
`;
}
