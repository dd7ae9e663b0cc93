// What `longshore config init` needs to know: from options, or from questions on a terminal.

import { parseAddress, parseAddressCsv } from '../../../config/address.ts';
import { UsageError } from '../command.ts';
import type { Questions } from '../terminal/questions.ts';
import type { INIT_OPTIONS } from '../tree/config-init.ts';

/** Those that were given. */
export type InitValues = {
  readonly [Key in keyof typeof INIT_OPTIONS]?:
    | ((typeof INIT_OPTIONS)[Key] extends { multiple: true }
        ? readonly string[]
        : (typeof INIT_OPTIONS)[Key]['type'] extends 'boolean'
          ? boolean
          : string)
    | undefined;
};

export interface PluginAnswer {
  readonly name: string;
  /** `host:port` of its server. Absent: this process runs its scripts. */
  readonly server?: string;
}

export interface Answers {
  /** Of the roles and databases. */
  readonly name: string;
  readonly db: string;
  readonly objects:
    | { readonly path: string }
    | { readonly s3: string; readonly bucket: string; readonly rabbitmq: string; readonly rabbitmqUser: string };
  /** Empty: events are stored in PostgreSQL. */
  readonly kafka: readonly string[];
  readonly targets: readonly string[];
  readonly plugins: readonly PluginAnswer[];
  /** Absent: our own tokens, `longshore token`. */
  readonly oauth?: { readonly issuer: string; readonly jwks: string; readonly audience: string };
  readonly access: boolean;
  /** Folder of the query jobs. */
  readonly report?: string;
  readonly handler?: string;
  readonly portBase: number;
}

/** Secrets that only the operator knows, by the variable that gives them. */
export const GIVEN_SECRETS = {
  S3_ACCESS_KEY: 's3-access-key',
  S3_SECRET_KEY: 's3-secret-key',
  RABBITMQ_PASSWORD: 'rabbitmq-password',
} as const;

type Refuse = (text: string) => string | undefined;
const unless =
  (fits: (text: string) => boolean, allowed: string): Refuse =>
  (text) =>
    fits(text) ? undefined : allowed;
const all =
  (refuse: Refuse): Refuse =>
  (text) =>
    listOf(text)
      .map(refuse)
      .find((allowed) => allowed !== undefined);
const optional =
  (refuse: Refuse): Refuse =>
  (text) =>
    text === '' ? undefined : refuse(text);

const ADDRESS = unless((text) => parseAddress(text) !== undefined, 'host or host:port');
const ADDRESSES = unless((text) => parseAddressCsv(text) !== undefined, 'host[:port], separated by commas');
const NAME = unless((text) => /^[a-z][a-z0-9_]{2,40}$/.test(text), '3..41 small letters, digits and _, a letter first');
const TARGET = unless((text) => /^[A-Za-z0-9][A-Za-z0-9_-]{4,31}$/.test(text), '5..32 letters, digits, - and _');
const PLUGIN = unless(
  (text) => pluginOf(text) !== undefined,
  'a name of 3 or more letters, digits and -, or name=host:port',
);
const URL_ = unless((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), 'an http(s) URL');
const NOT_EMPTY = unless((text) => text !== '', 'not empty');
const PORT = unless(
  (text) => /^\d+$/.test(text) && Number(text) >= 80 && Number(text) <= 65_531,
  'a port from 80 to 65531',
);
const YES_NO = unless((text) => /^(?:y|yes|n|no)$/i.test(text), 'yes or no');
const STORE = unless((text) => text === 'directory' || text === 's3', 'directory or s3');

const listOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

function pluginOf(text: string): PluginAnswer | undefined {
  const [, name, server] = /^([A-Za-z][A-Za-z0-9-]{2,30})(?:=(.+))?$/.exec(text) ?? [];
  if (name === undefined || (server !== undefined && parseAddress(server) === undefined)) return undefined;
  return server === undefined ? { name } : { name, server };
}

/** Of the schemas of a target. A schema's name has no dash and begins with a letter. */
export const schemaBase = (target: string): string =>
  target
    .toLowerCase()
    .replaceAll('-', '_')
    .replace(/^(?=\d)/, 't');

const DEFAULTS = {
  name: 'longshore',
  db: '127.0.0.1:5432',
  objects: 'objects',
  target: 'SiteA',
  plugin: 'genelist',
  'port-base': '8080',
  rabbitmqUser: 'longshore',
} as const;

/** @throws UsageError for a value that is not allowed, and for options that do not go together */
export function answersFrom(values: InitValues): Answers {
  const checked = (option: keyof InitValues, text: string, refuse: Refuse): string => {
    const allowed = refuse(text);
    if (allowed !== undefined) throw new UsageError(`--${option} '${text}': must be ${allowed}`);
    return text;
  };
  const together = (what: string, needed: readonly (keyof InitValues)[]): readonly string[] | undefined => {
    const given = needed.filter((option) => values[option] !== undefined);
    const missing = needed.filter((option) => values[option] === undefined);
    if (given.length === 0) return undefined;
    if (missing.length > 0)
      throw new UsageError(`${what} needs ${missing.map((option) => `--${option}`).join(' and ')}`);
    return needed.map((option) => String(values[option]));
  };
  const s3 = together('an S3 store', ['object-store', 'bucket', 'rabbitmq']);
  if (s3 && values.objects !== undefined) throw new UsageError('--objects and --object-store: use one of them');
  if (!s3 && values['rabbitmq-user'] !== undefined) throw new UsageError('--rabbitmq-user: needs --object-store');
  const oauth = together('a token issuer', ['issuer', 'jwks', 'audience']);
  const targets = values.target ?? [DEFAULTS.target];
  for (const [i, target] of targets.entries()) {
    checked('target', target, TARGET);
    const earlier = targets.slice(0, i).find((one) => schemaBase(one) === schemaBase(target));
    if (earlier !== undefined)
      throw new UsageError(`--target '${target}': must differ from '${earlier}' in more than case and dashes`);
  }
  const plugins = (values.plugin ?? [DEFAULTS.plugin]).flatMap(
    (text) => pluginOf(checked('plugin', text, PLUGIN)) ?? [],
  );
  const [server = '', bucket = '', rabbitmq = ''] = s3 ?? [];
  const [issuer = '', jwks = '', audience = ''] = oauth ?? [];
  return {
    name: checked('name', values.name ?? DEFAULTS.name, NAME),
    db: checked('db', values.db ?? DEFAULTS.db, ADDRESS),
    objects: s3
      ? {
          s3: checked('object-store', server, ADDRESS),
          bucket: checked('bucket', bucket, NOT_EMPTY),
          rabbitmq: checked('rabbitmq', rabbitmq, ADDRESS),
          rabbitmqUser: values['rabbitmq-user'] ?? DEFAULTS.rabbitmqUser,
        }
      : { path: checked('objects', values.objects ?? DEFAULTS.objects, NOT_EMPTY) },
    kafka: listOf(values.kafka === undefined ? '' : checked('kafka', values.kafka, ADDRESSES)),
    targets,
    plugins,
    ...(oauth ? { oauth: { issuer, jwks: checked('jwks', jwks, URL_), audience } } : {}),
    access: values.access ?? false,
    ...(values.report === undefined ? {} : { report: checked('report', values.report, NOT_EMPTY) }),
    ...(values.handler === undefined ? {} : { handler: checked('handler', values.handler, NOT_EMPTY) }),
    portBase: Number(checked('port-base', values['port-base'] ?? DEFAULTS['port-base'], PORT)),
  };
}

interface Asked {
  readonly values: InitValues;
  /** By the variable that would give them. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** Asks for everything. An empty answer takes what is in brackets; without brackets it leaves the section out. */
export async function askAll(questions: Questions): Promise<Asked> {
  const ask = (text: string, refuse: Refuse, fallback?: string) =>
    questions.ask({ text, refuse, ...(fallback === undefined ? {} : { fallback }) });
  const optionally = async (option: keyof InitValues, text: string, refuse: Refuse): Promise<InitValues> => {
    const answer = await ask(text, optional(refuse));
    return answer === '' ? {} : { [option]: answer };
  };
  const db = await ask('PostgreSQL server', ADDRESS, DEFAULTS.db);
  const name = await ask('name for its roles and databases', NAME, DEFAULTS.name);
  const store = await ask('store objects in a directory or in s3', STORE, 'directory');
  const objects =
    store === 's3'
      ? await askS3(questions, ask)
      : { values: { objects: await ask('directory of the objects', NOT_EMPTY, DEFAULTS.objects) }, secrets: {} };
  const kafka = await optionally('kafka', 'Kafka servers for events (empty: PostgreSQL)', ADDRESSES);
  const target = listOf(await ask('install targets, separated by commas', all(TARGET), DEFAULTS.target));
  const plugin = listOf(await ask('plugins: name, or name=host:port of its server', all(PLUGIN), DEFAULTS.plugin));
  const issuer = await ask("issuer of the users' tokens (empty: longshore token)", () => undefined);
  const oauth =
    issuer === ''
      ? {}
      : {
          issuer,
          jwks: await ask('URL of its key set (JWKS)', URL_),
          audience: await ask('audience that its tokens have for this service', NOT_EMPTY),
        };
  const access = /^y/i.test(await ask('dataset access service', YES_NO, 'no'));
  const report = await optionally('report', 'report service: directory of the query jobs (empty: none)', NOT_EMPTY);
  const handler = await optionally('handler', 'handler service: its command (empty: none)', NOT_EMPTY);
  const portBase = await ask('first of five ports to listen on', PORT, DEFAULTS['port-base']);
  return {
    values: {
      ...{ db, name, ...objects.values, ...kafka, target, plugin },
      ...{ ...oauth, access, ...report, ...handler, 'port-base': portBase },
    },
    secrets: objects.secrets,
  };
}

async function askS3(
  questions: Questions,
  ask: (text: string, refuse: Refuse, fallback?: string) => Promise<string>,
): Promise<Asked> {
  const secret = (text: string) => questions.ask({ text, secret: true, refuse: NOT_EMPTY });
  const s3 = await ask('S3 server', ADDRESS);
  const bucket = await ask('bucket', NOT_EMPTY);
  const accessKey = await secret('access key (not shown)');
  const secretKey = await secret('secret key (not shown)');
  const rabbitmq = await ask('RabbitMQ server that the bucket notifies', ADDRESS);
  const user = await ask('user of RabbitMQ', NOT_EMPTY, DEFAULTS.rabbitmqUser);
  const password = await secret('its password (not shown)');
  return {
    values: { 'object-store': s3, bucket, rabbitmq, 'rabbitmq-user': user },
    secrets: { S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey, RABBITMQ_PASSWORD: password },
  };
}
