// An installation with several processes on it: databases behind relays, the plugin of the test, tokens of its users.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { longshore } from '../../support/longshore.ts';
import { freePorts } from '../../support/ports.ts';
import { type Installation, type InstallationOptions, installation, TARGETS } from '../installation.ts';
import { Relay } from './relay.ts';
import { RowPlugin, type RowPluginOptions } from './row-plugin.ts';
import { ServeProcess } from './serve-process.ts';
import type { Teardowns } from './teardowns.ts';

/** By the place of their tokens. */
export const USERS = ['8', '9', '10'] as const;
export const SCHEMAS = {
  AlphaDB: { data: 'alpha_data', control: 'alpha_control' },
  BetaDB: { data: 'beta_data', control: 'beta_control' },
} as const;

export interface Site {
  readonly at: Installation;
  readonly plugin: RowPlugin;
  readonly cacheRelay: Relay;
  /** Before the databases of BetaDB. The plugin goes past it. */
  readonly betaRelay: Relay;
  readonly processes: readonly ServeProcess[];
  readonly tokens: readonly string[];
  /** Runs `longshore` with the configuration; what it printed. */
  command(...args: readonly string[]): Promise<string>;
  /** Logs of the processes. */
  readonly logDir: string;
}

export interface SiteOptions
  extends Pick<InstallationOptions, 'lanes' | 'daemons' | 'durable' | 'killed' | 'gib' | 'sections' | 'siteServer'> {
  readonly processes: number;
  readonly plugin: RowPluginOptions;
}

/** Set up and started; the logs stay. */
export async function openSite(
  t: Teardowns,
  { processes: count, plugin: times, ...options }: SiteOptions,
): Promise<Site> {
  const logDir = await mkdtemp(join(tmpdir(), 'longshore-scale-out-'));
  const plugin = await RowPlugin.open(t, times);
  const at = await installation(t, { ...options, plugin: { port: plugin.port } });
  const cacheRelay = await Relay.open(t, at.cache);
  const betaRelay = await Relay.open(t, at.sites.BetaDB);
  at.directory.put({
    cn: 'beta-db',
    classes: ['PostgresServiceContext'],
    attributes: {
      pgConnectionParam: ['host=127.0.0.1', `port=${betaRelay.port}`, `dbname=${at.sites.BetaDB.database}`],
    },
  });
  for (const target of TARGETS)
    await plugin.use(target, { schema: SCHEMAS[target].data, connection: at.sites[target] });
  const environment = (port: number): Readonly<Record<string, string>> => ({
    ...at.environment(port),
    CACHE_DB_SERVER: `${cacheRelay.host}:${cacheRelay.port}`,
  });
  const command = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await longshore([...args, '--config', at.file], {
      env: { ...process.env, ...environment(1) },
    });
    if (code !== 0) throw new Error(`longshore ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout.trim();
  };
  await command('migrate');
  for (const target of TARGETS) await command('migrate-target', target);
  const tokens = await Promise.all(USERS.map((user) => command('token', '--user', user)));
  const processes: ServeProcess[] = [];
  for (let n = 1; n <= count; n++) {
    const [port = 0, report = 0, access = 0] = await freePorts(3);
    const serve = new ServeProcess({
      name: `serve-${n}`,
      configuration: at.file,
      ports: { installer: port, report, access },
      env: {
        ...environment(port),
        LONGSHORE_REPORT_PORT: String(report),
        LONGSHORE_ACCESS_PORT: String(access),
      },
      logDir,
    });
    t.teardown(() => serve.kill());
    processes.push(serve);
    await serve.start();
  }
  return { at, plugin, cacheRelay, betaRelay, processes, tokens, command, logDir };
}
