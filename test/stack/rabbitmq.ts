// RabbitMQ as a plain process: its own node name, data directory and ports, all on loopback, with and without TLS.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../support/ports.ts';
import { makeCertificate } from './certificate.ts';
import { ServerProcess } from './server-process.ts';

export interface RabbitMq extends AsyncDisposable {
  /** User and password are `guest`. */
  readonly port: number;
  readonly tlsPort: number;
  /** PEM of the authority that signed its certificate, for localhost and 127.0.0.1. */
  readonly caFile: string;
  /** Of the script that started it; the broker is below it. */
  readonly pid: number;
  /** Hangs: nothing is answered. */
  pause(): void;
  continue(): void;
  /** Ends it and starts it anew with what it kept. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** After {@link stop}, with what it kept. */
  start(): Promise<void>;
}

/** Starts it, and ends it with everything it wrote when the test ends, also when another server of the test does not start. */
export async function startRabbitMqFor(t: { teardown(fn: () => unknown): void }): Promise<RabbitMq> {
  const rabbit = await startRabbitMq(await mkdtemp(join(tmpdir(), 'longshore-rabbitmq-')));
  t.teardown(() => rabbit[Symbol.asyncDispose]());
  return rabbit;
}

/** @param dir made; everything of it goes there */
export async function startRabbitMq(dir: string): Promise<RabbitMq> {
  const [port = 0, tlsPort = 0, distPort = 0, epmdPort = 0] = await freePorts(4);
  await mkdir(join(dir, 'mnesia'), { recursive: true });
  const { caFile, certFile, keyFile } = makeCertificate(dir);
  const config = join(dir, 'rabbitmq.conf');
  const plugins = join(dir, 'enabled_plugins');
  await writeFile(plugins, '[].');
  await writeFile(
    config,
    Object.entries({
      'listeners.tcp.1': `127.0.0.1:${port}`,
      'listeners.ssl.1': `127.0.0.1:${tlsPort}`,
      'ssl_options.cacertfile': caFile,
      'ssl_options.certfile': certFile,
      'ssl_options.keyfile': keyFile,
      'ssl_options.verify': 'verify_none',
      'ssl_options.fail_if_no_peer_cert': 'false',
      'log.console': 'true',
      'log.console.level': 'warning',
      'log.file': 'false',
      'vm_memory_high_watermark.absolute': '512MB',
      'disk_free_limit.absolute': '50MB',
    })
      .map(([key, value]) => `${key} = ${value}\n`)
      .join(''),
  );
  const command = {
    program: '/usr/lib/rabbitmq/bin/rabbitmq-server',
    args: [],
    env: {
      HOME: dir,
      // Two of them on one machine must not share a name.
      RABBITMQ_NODENAME: `stack${port}@localhost`,
      RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
      RABBITMQ_LOG_BASE: dir,
      RABBITMQ_CONFIG_FILE: config,
      RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_DIST_PORT: String(distPort),
      ERL_EPMD_PORT: String(epmdPort),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
        '+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}',
    },
    log: join(dir, 'log'),
    ports: [port, tlsPort],
  };
  // The name server of Erlang nodes would leave the group and stay: it is started, and ended, beside the broker.
  const epmd = await ServerProcess.start({
    program: 'epmd',
    args: ['-port', String(epmdPort), '-address', '127.0.0.1'],
    log: join(dir, 'epmd.log'),
    ports: [epmdPort],
  });
  let server: ServerProcess;
  try {
    server = await ServerProcess.start(command);
  } catch (error) {
    await epmd[Symbol.asyncDispose]();
    throw error;
  }
  return {
    port,
    tlsPort,
    caFile,
    get pid() {
      return server.pid;
    },
    pause: () => server.pause(),
    continue: () => server.continue(),
    async restart() {
      await server[Symbol.asyncDispose]();
      server = await ServerProcess.start(command);
    },
    stop: () => server[Symbol.asyncDispose](),
    async start() {
      server = await ServerProcess.start(command);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await epmd[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
