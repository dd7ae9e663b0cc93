// The running program as the contract's tests know it: `longshore up` with a target of every project category, plugins
// that do what the names of the uploaded files tell them, and a client for every role.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parse, stringify } from 'yaml';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { embeddedConfig } from '../../bin/compose/embedded-config.ts';
import { LOCAL_ISSUER } from '../../engine/model/ids.ts';
import { issueToken, newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { type Endpoints, freePortBase, ROOT, tempDir, up } from '../support/longshore.ts';
import { LOOPBACK } from '../support/remote-server.ts';
import { ContractClient } from './client.ts';
import type { RowId } from './installer.ts';
import { Recorder } from './recorder.ts';

export const [OWNER, FRIEND, STRANGER, GUEST] = ['9007199254740993', '22', '33', '44'] as const;
export const MAX_UPLOAD_BYTES = 1_048_576;
export const MAX_TYPE_BYTES = 10_000;
export const LONGEST_TARGET = 'VectorSiteWithTheLongestName-032';
/** Target by project category; the two others have none. */
export const TARGETS = {
  other: 'AlphaDB',
  second: 'BetaDB',
  genomics: 'Genes',
  vector: LONGEST_TARGET,
  microbiome: 'MicrobeDB',
  'clinical-epidemiology': 'ClinicDB',
} as const;

const SCRIPTS = join(ROOT, 'test', 'fixtures', 'scripts', 'told');
const scripts = {
  dataCleaning: join(SCRIPTS, 'import.sh'),
  checkCompatibility: join(SCRIPTS, 'check-compatibility.sh'),
  dataInstall: join(SCRIPTS, 'install-data.sh'),
  metaUpdate: join(SCRIPTS, 'install-meta.sh'),
  uninstall: join(SCRIPTS, 'uninstall.sh'),
};

export interface World {
  readonly dir: string;
  readonly adminToken: string;
  readonly endpoints: Endpoints;
  readonly owner: ContractClient;
  readonly friend: ContractClient;
  readonly stranger: ContractClient;
  readonly guest: ContractClient;
  readonly admin: ContractClient;
  readonly nobody: ContractClient;
  /** A client with these headers. */
  as(headers: Readonly<Record<string, string>>): ContractClient;
  token(user: string, options?: TokenOptions): Promise<string>;
  /** What the running program says of itself. */
  readonly recorder: Recorder;
  /** What it printed. */
  printed(): string;
  /** The test of a row of the contract. */
  row(id: RowId, facts: (t: Test) => Promise<void>): void;
  stop(): Promise<number | null>;
}

export interface TokenOptions {
  readonly guest?: boolean;
  readonly lifetimeSeconds?: number;
  readonly issuer?: string;
  /** Signed by somebody else's key. */
  readonly foreignKey?: boolean;
}

interface TargetEntry {
  readonly controlDb: { readonly schema: string };
  readonly dataDb: { readonly schema: string };
}

export interface WorldOptions {
  /** Further keys of `installer.lanes`. */
  readonly lanes?: object;
  readonly restService?: object;
  /** Further keys of `containerCore.http` and of `access`. */
  readonly http?: object;
  readonly access?: object;
}

export async function world(t: Test, options: WorldOptions = {}): Promise<World> {
  const dir = await tempDir(t);
  const base = await freePortBase();
  await writeConfig(dir, base, options);
  const app = await up(t, dir, ['--port-base', String(base)]);
  const { installer: url, adminToken } = app.endpoints;
  const recorder = await Recorder.of('installer', url);
  const foreign = await newKeyPair();
  const own = await readFile(dataDir(dir).tokenKey, 'utf8');
  const token = (user: string, { guest = false, lifetimeSeconds = 3_600, issuer, foreignKey }: TokenOptions = {}) =>
    issueToken({
      privateKeyPem: foreignKey ? foreign.privateKeyPem : own,
      issuer: issuer ?? LOCAL_ISSUER,
      subject: user,
      lifetimeSeconds,
      claims: {
        ...{ guest, given_name: `First${user}`, family_name: `Last${user}` },
        ...{ email: `user${user}@example.org`, email_verified: true },
      },
    });
  const as = (headers: Readonly<Record<string, string>>): ContractClient => new ContractClient(url, headers, recorder);
  const user = async (id: string, more?: TokenOptions): Promise<ContractClient> =>
    as({ authorization: `Bearer ${await token(id, more)}` });
  t.teardown(() => recorder.save());
  return {
    dir,
    adminToken,
    endpoints: app.endpoints,
    owner: await user(OWNER),
    friend: await user(FRIEND),
    stranger: await user(STRANGER),
    guest: await user(GUEST, { guest: true }),
    admin: as({ 'admin-token': adminToken }),
    nobody: as({}),
    as,
    token,
    recorder,
    printed: app.printed,
    row: (id, facts) => void t.test(id, facts),
    stop: () => app.stop(),
  };
}

async function writeConfig(
  dir: string,
  base: number,
  { lanes, restService, http, access }: WorldOptions,
): Promise<void> {
  const plugin = (name: string, usesDataProperties: boolean, allowedFileExtensions: readonly string[]) => ({
    name,
    category: `The ${name}`,
    allowedFileExtensions,
    usesDataProperties,
    scripts,
  });
  const text = embeddedConfig(dataDir(dir), base, [
    plugin('genes', false, ['.txt', '.fifo']),
    plugin('tables', true, []),
    plugin('vectors', false, []),
  ]);
  const config = parse(text) as {
    installer: { installTargets: TargetEntry[]; plugins: Record<string, never> };
    containerCore: { http?: object };
    access: object;
  };
  const { installer, containerCore } = config;
  containerCore.http = { ...containerCore.http, ...http };
  Object.assign(config.access, access);
  const [first] = installer.installTargets;
  for (const category of ['genomics', 'vector', 'microbiome', 'clinical-epidemiology'] as const) {
    const schema = (kind: string): string => `${category.replaceAll('-', '_')}_${kind}`;
    installer.installTargets.push({
      ...first,
      targetId: TARGETS[category],
      targetName: `Site of ${category}`,
      projectCategory: category,
      controlDb: { ...first?.controlDb, schema: schema('control') },
      dataDb: { ...first?.dataDb, schema: schema('data') },
    } as TargetEntry);
  }
  const plugins = installer.plugins as Record<string, { dataTypes: Record<string, unknown>[] }>;
  Object.assign(plugins.genes?.dataTypes[0] ?? {}, { maxFileSize: MAX_TYPE_BYTES });
  Object.assign(plugins.vectors?.dataTypes[0] ?? {}, { projectIds: [LONGEST_TARGET] });
  // Names and versions as short and as long as they may be.
  for (const [name, version] of [
    ['111', '1'],
    ['1'.repeat(128), '1'.repeat(32)],
  ])
    plugins.genes?.dataTypes.push({ name, version, category: 'Of odd length' });
  Object.assign(installer, {
    restService: { maxUploadSize: MAX_UPLOAD_BYTES, urlUploads: { allow: [LOOPBACK] }, ...restService },
    ...(lanes === undefined ? {} : { lanes }),
  });
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'config.yaml'), stringify(config), { mode: 0o600 });
}
