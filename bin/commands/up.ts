// `longshore up`: everything on this machine, from nothing. Writes its data directory once and continues where the
// last start left it.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import type { Configuration } from '../../config/configuration.ts';
import { writeHandlerCommand } from '../../config/samples/handler-command.ts';
import { writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { SAMPLE_NAMES, SAMPLES } from '../../config/samples/samples.ts';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres.ts';
import { aborted } from '../../engine/failure.ts';
import { createLogger } from '../../engine/log.ts';
import { LogThreshold } from '../../engine/log-threshold.ts';
import { systemClock } from '../../engine/time.ts';
import { newKeyPair } from '../../http/local-issuer.ts';
import { addMissing } from '../access-database.ts';
import { parse, wholeNumber } from '../arguments.ts';
import { type Command, EXIT } from '../command.ts';
import {
  type DataDir,
  dataDir,
  defaultDataPath,
  type Endpoints,
  removeEndpoints,
  takeDataDir,
  writeWhole,
} from '../data-dir.ts';
import { runDemo } from '../demo.ts';
import { embeddedConfig } from '../embedded-config.ts';
import { prepareDatabases } from '../embedded-databases.ts';
import { freePort } from '../free-port.ts';
import { loadConfigFile } from '../load-config.ts';
import { runService } from '../run-service.ts';
import { runtimeArgv } from '../runtime.ts';
import { UsageError } from '../usage-error.ts';

const OPTIONS = {
  data: { type: 'string', path: 'directory' },
  'port-base': { type: 'string' },
  'postgres-bin': { type: 'string', path: 'directory' },
  demo: { type: 'boolean', default: false },
  exit: { type: 'boolean', default: false },
} as const;

const DEFAULT_PORT_BASE = 8080;
const SAMPLE_STUDIES = 'config/samples/access-studies.yaml';
/** The embedded server's own administrator; only this program uses it. */
const SUPERUSER_FILE = 'postgres.password';

export const up: Command = {
  name: 'up',
  usage: 'longshore up [--data DIR] [--port-base N] [--demo [--exit]] [--postgres-bin DIR]',
  options: OPTIONS,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`'${positionals[0]}' is not understood`);
    if (values.exit && !values.demo) throw new UsageError('--exit goes with --demo');
    const given = values['port-base'];
    const portBase = given === undefined ? undefined : wholeNumber('port-base', given, 1024, 65_531);

    const dir = dataDir(values.data ?? defaultDataPath(process.getuid?.()));
    await using _taken = await takeDataDir(dir);
    await removeEndpoints(dir); // of an `up` that was killed
    await writeOnce(dir, portBase ?? DEFAULT_PORT_BASE);
    const threshold = new LogThreshold('info');
    const log = createLogger({ level: threshold, to: { file: dir.log } });

    io.err(`data directory ${dir.path}\n`);
    const port = await postgresPort(dir);
    const password = await superuserPassword(dir);
    await using postgres = await startEmbeddedPostgres(
      { dir: dir.path, port, password, binDir: values['postgres-bin'], path: io.env.PATH },
      systemClock,
      log,
      io.signal,
    );
    const { configuration: written, source } = await loadConfigFile(dir.config, io, { takesMails: true });
    const configuration = withPorts(written, portBase);
    await prepareDatabases(configuration.installer, { port, password }, io.signal);
    if (configuration.access) await addMissing(configuration, SAMPLE_STUDIES, io.signal);
    threshold.set(configuration.containerCore.log.level);

    const stop = new AbortController();
    const signal = AbortSignal.any([io.signal, stop.signal]);
    const foundation = postgres.ended.then(() => new Promise<never>(() => undefined));
    try {
      const ended = await runService(
        {
          configuration,
          source,
          threshold,
          clock: systemClock,
          log,
          foundation,
          close: () => postgres.stop(),
          env: io.env,
          scratchDir: dir.scratch,
          mailDir: dir.mail,
          ready: async (addresses) => {
            const adminToken = configuration.containerCore.authentication?.adminToken ?? '';
            const endpoints: Endpoints = { ...addresses, adminToken, pid: process.pid };
            await writeWhole(dir.endpoints, `${JSON.stringify(endpoints, null, 2)}\n`, 0o600);
            io.err(`ready: installer ${addresses.installer}, endpoints in ${dir.endpoints}\n`);
            if (values.demo) await runDemo(dir, configuration, addresses.installer, io, signal);
            if (values.exit) stop.abort(aborted('the demo is over'));
            else io.err('Ctrl-C ends it\n');
          },
        },
        signal,
      );
      return ended === 'stopped' ? EXIT.ok : EXIT.failed;
    } finally {
      await removeEndpoints(dir);
      io.err('stopped\n');
    }
  },
};

/** Files that exist are the operator's; launchers name this program's own path and are written anew each time. */
async function writeOnce(dir: DataDir, portBase: number): Promise<void> {
  // Private datasets lie there: others of this machine may pass through the data directory, not into this.
  for (const own of [dir.objects, dir.queryJobs, dir.blastDb, dir.compiled])
    await mkdir(own, { recursive: true, mode: 0o700 });
  const launchers = await writeSampleLaunchers(dir.plugins, runtimeArgv(dir.compiled));
  await writeHandlerCommand(dir.handlerCommand);
  if (!existsSync(dir.tokenKey) || !existsSync(dir.tokenPublicKey)) {
    const pair = await newKeyPair();
    await writeWhole(dir.tokenPublicKey, pair.publicKeyPem, 0o644);
    await writeWhole(dir.tokenKey, pair.privateKeyPem, 0o600);
  }
  if (existsSync(dir.config)) return;
  const plugins = SAMPLE_NAMES.map((name) => ({ ...SAMPLES[name], name, scripts: launchers[name] }));
  await writeWhole(dir.config, embeddedConfig(dir, portBase, plugins), 0o600);
}

/** The last one when it is free, so that a session of psql survives a restart. */
async function postgresPort(dir: DataDir): Promise<number> {
  const last = Number(await readFile(dir.postgresPort, 'utf8').catch(() => ''));
  const port = await freePort(Number.isInteger(last) && last > 0 ? last : undefined);
  await writeWhole(dir.postgresPort, String(port), 0o644);
  return port;
}

async function superuserPassword(dir: DataDir): Promise<string> {
  const file = `${dir.path}/${SUPERUSER_FILE}`;
  if (!existsSync(file)) await writeWhole(file, randomBytes(24).toString('base64url'), 0o600);
  return (await readFile(file, 'utf8')).trim();
}

/** `--port-base` overrides the written configuration for this run, the address of the own plugin host included. */
function withPorts(configuration: Configuration, portBase: number | undefined): Configuration {
  if (portBase === undefined) return configuration;
  const { containerCore, installer } = configuration;
  const before = containerCore.ports.pluginHost;
  const ports = {
    installer: portBase,
    handler: portBase + 1,
    report: portBase + 2,
    access: portBase + 3,
    pluginHost: portBase + 4,
  };
  const plugins = Object.fromEntries(
    Object.entries(installer.plugins).map(([key, plugin]) => {
      const own = configuration.pluginHost?.inProcess.includes(key) && plugin.server.port === before;
      return [key, own ? { ...plugin, server: { ...plugin.server, port: ports.pluginHost } } : plugin];
    }),
  );
  return { ...configuration, containerCore: { ...containerCore, ports }, installer: { ...installer, plugins } };
}
