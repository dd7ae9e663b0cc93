// `longshore config init FILE`: writes a configuration with comments that `config check` passes, its secrets as files of their
// own (mode 0600), and the SQL for its roles and databases. Secrets that exist are kept, because roles have these passwords.

import { createPublicKey, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { parseAddress } from '../../../config/address.ts';
import { loadConfiguration } from '../../../config/load.ts';
import { namedFileFindings } from '../../../config/named-files.ts';
import { CONFIG_KEYS, writeSampleLaunchers } from '../../../config/samples/launchers.ts';
import { isSampleName } from '../../../config/samples/samples.ts';
import { ROOT_SCHEMA } from '../../../config/schema/root.ts';
import { formatFault } from '../../../config/validate.ts';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { Failure } from '../../../engine/runtime/failure.ts';
import { writeWhole } from '../../../engine/runtime/files.ts';
import { programArgv } from '../../../engine/runtime/program-files.ts';
import { newKeyPair } from '../../../http/kernel/auth/local-issuer.ts';
import { type CommandIo, ConfigurationError, UsageError } from '../command.ts';
import { Questions } from '../terminal/questions.ts';
import { type Answers, answersFrom, askAll, GIVEN_SECRETS, type InitValues } from './answers.ts';
import { configText, databaseSql, hosted, PRIVATE_KEY, PUBLIC_KEY, SECRETS, SITE_BUILD, SITES } from './template.ts';

export interface Written {
  readonly file: string;
  /** Folder of the secrets. */
  readonly secrets: string;
  /** Commands to run next, with what they do. */
  readonly next: readonly { readonly run: string; readonly what: string }[];
}

const PRIVATE = 0o600;

/** Asks if standard input is a terminal and no option says what is wanted. */
export async function initConfig(file: string, values: InitValues, io: CommandIo): Promise<Written> {
  if (existsSync(file) && values.force !== true)
    throw new Failure('rejected', `${file} exists; --force replaces it and keeps its secrets`);
  const { answers, env } = await wanted(values, io);
  const dir = dirname(resolve(file));
  const created: string[] = [];
  try {
    await writeSecrets(new SecretFiles(join(dir, SECRETS), created), answers, env);
    await writePublicKey(dir, answers, created);
    const scripts = await writeScripts(dir, answers);
    const draft = `${resolve(file)}.new`;
    created.push(draft);
    await writeWhole(draft, configText(basename(file), answers, scripts), 0o644);
    await mustPass(draft, file, io);
    await rename(draft, resolve(file));
  } catch (error) {
    for (const path of created) await rm(path, { force: true });
    throw error;
  }
  return { file, secrets: join(dirname(file), SECRETS), next: nextCommands(file, answers) };
}

async function wanted(
  values: InitValues,
  io: CommandIo,
): Promise<{ readonly answers: Answers; readonly env: CommandIo['env'] }> {
  const given = Object.keys(values).some((option) => option !== 'force');
  const keyboard = given ? undefined : io.keyboard?.();
  if (!keyboard || !io.errTerminal) return { answers: answersFrom(values), env: io.env };
  using questions = new Questions(keyboard, io.errTerminal.write, io.signal);
  const asked = await askAll(questions);
  return { answers: answersFrom(asked.values), env: { ...io.env, ...asked.secrets } };
}

class SecretFiles {
  readonly #dir: string;
  readonly #created: string[];

  constructor(dir: string, created: string[]) {
    this.#dir = dir;
    this.#created = created;
  }

  /** What the file has, or the given value, or a random one. */
  async keep(name: string, value = randomBytes(24).toString('base64url')): Promise<string> {
    const path = join(this.#dir, name);
    if (existsSync(path)) {
      const text = decodeUtf8(await readFile(path));
      if (text === undefined) throw new Failure('rejected', `${path} is not UTF-8`);
      return text.replace(/\r?\n$/, '');
    }
    await this.write(name, value);
    return value;
  }

  has(name: string): boolean {
    return existsSync(join(this.#dir, name));
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.#dir, name);
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    if (!existsSync(path)) this.#created.push(path);
    await writeWhole(path, text, PRIVATE);
  }
}

async function writeSecrets(secrets: SecretFiles, answers: Answers, env: CommandIo['env']): Promise<void> {
  if ('s3' in answers.objects)
    for (const [variable, name] of Object.entries(GIVEN_SECRETS)) {
      const value = env[variable];
      if (!secrets.has(name) && !value)
        throw new UsageError(`an S3 store: set the variable ${variable}; it is written to ${SECRETS}/${name}`);
      await secrets.keep(name, value);
    }
  await secrets.keep('admin-token', randomBytes(32).toString('hex'));
  const service = await secrets.keep('db-password', env.DB_PASSWORD);
  const data = await secrets.keep('data-db-password', env.DATA_DB_PASSWORD);
  await secrets.keep('plugin-token');
  if (answers.handler !== undefined) await secrets.keep('handler-token');
  if (!answers.oauth && !secrets.has(PRIVATE_KEY)) await secrets.keep(PRIVATE_KEY, (await newKeyPair()).privateKeyPem);
  await secrets.write('database.sql', databaseSql(answers, { service, data }));
}

async function writePublicKey(dir: string, { oauth }: Answers, created: string[]): Promise<void> {
  if (oauth) return;
  const path = join(dir, PUBLIC_KEY);
  if (!existsSync(path)) created.push(path);
  const key = createPublicKey(await readFile(join(dir, SECRETS, PRIVATE_KEY)));
  await writeWhole(path, key.export({ type: 'spki', format: 'pem' }), 0o644);
}

type Scripts = Record<string, Readonly<Record<string, string>>>;

/** Sample plugins have scripts. Of others, the operator puts them where the configuration says. */
async function writeScripts(dir: string, answers: Answers): Promise<Scripts> {
  const scripts: Scripts = {};
  const own = hosted(answers);
  if (own.length > 0) await mkdir(join(dir, SITES, SITE_BUILD), { recursive: true });
  const samples = own.map(({ name }) => name).filter(isSampleName);
  await writeSampleLaunchers(join(dir, 'plugins'), programArgv(), undefined, samples);
  for (const { name } of own)
    scripts[name] = Object.fromEntries(
      Object.entries(CONFIG_KEYS).map(([kind, key]) => [key, join('plugins', name, kind)]),
    );
  return scripts;
}

/** What is written must be right. A fault is of an answer, such as a command that is not there. */
async function mustPass(draft: string, file: string, io: CommandIo): Promise<void> {
  const loaded = await loadConfiguration(draft, {
    env: io.env,
    check: (document, dir) => namedFileFindings(ROOT_SCHEMA, document, dir, io.env.PATH ?? ''),
  });
  if (!loaded.ok)
    throw new ConfigurationError(
      `nothing was written: ${loaded.faults.map((fault) => formatFault({ ...fault, file })).join('\n')}`,
    );
}

function nextCommands(file: string, answers: Answers): Written['next'] {
  const { host = '', port = 5432 } = parseAddress(answers.db) ?? {};
  const others = hosted(answers).filter(({ name }) => !isSampleName(name));
  const config = `--config ${quoted(file)}`;
  return [
    ...others.map(({ name }) => ({
      run: `ls ${quoted(join(dirname(file), 'plugins', name))}`,
      what: 'put the five scripts of the plugin there, see docs/first-plugin.md',
    })),
    {
      run: `psql -h ${host} -p ${port} -U postgres -f ${quoted(join(dirname(file), SECRETS, 'database.sql'))}`,
      what: 'roles, databases and schemas, as a superuser',
    },
    { run: `longshore migrate ${config}`, what: 'tables of the services' },
    ...answers.targets.map((target) => ({
      run: `longshore migrate-target ${target} ${config}`,
      what: 'control tables of the target',
    })),
    { run: `longshore doctor ${config}`, what: 'checks everything that the file names' },
    { run: `longshore serve ${config}`, what: 'starts it' },
  ];
}

/** For people. */
export function writtenText({ file, secrets, next }: Written): string {
  const lines = next.map(({ run, what }) => `  ${run}   # ${what}\n`);
  return `wrote ${file}; its secrets are in ${secrets}/, which only this user may read\nnext:\n${lines.join('')}`;
}

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
