// A Kafka client of kafkajs as the adapters use it: it writes to our log, its sockets can be cut, and what Node.js and it
// print of themselves stays away from the terminal.
//   open   connects as it needs
//   cut    every socket is closed, whatever waited for an answer fails, new ones fail at once: for the end that may not wait

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type ISocketFactoryArgs, Kafka, type KafkaConfig, type LogEntry, logLevel } from 'kafkajs';
import type { Logger } from '../../runtime/log.ts';
import { systemClock } from '../../runtime/time.ts';
import { installCodecs } from './kafka-codecs.ts';

const KEEP_ALIVE_MS = 15_000;

export class KafkaClient {
  readonly kafka: Kafka;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  constructor(config: KafkaConfig, log: Logger) {
    installCodecs();
    spendNegativeTimerWarning();
    this.kafka = new Kafka({
      ...config,
      socketFactory: (args) => this.#connect(args),
      logLevel: logLevel.DEBUG,
      logCreator: () => (entry) => writeTo(log, entry),
    });
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy(new Error('the connection is no longer wanted'));
  }

  #connect({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    const name = isIP(host) ? {} : { servername: host };
    // Given only where TLS is on.
    const socket = (ssl as ISocketFactoryArgs['ssl'] | undefined)
      ? connectTls({ host, port, ...name, ...ssl }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isCut) socket.destroy(new Error('the connection is no longer wanted'));
    return socket;
  }
}

/**
 * The client calls every rebalance and lost connection an error; here they are coped with, and whoever reads and publishes
 * says what came of it. Fields are picked, because what it hands over may hold anything.
 */
function writeTo(log: Logger, { namespace, level, log: entry }: LogEntry): void {
  const { message, broker, topic, partition, groupId, error, retryCount } = entry;
  const fields = { client: namespace, broker, topic, partition, groupId, retryCount, said: message, reason: error };
  if (level === logLevel.DEBUG) log.trace(fields, 'Kafka client');
  else log.debug(fields, 'Kafka client');
}

/**
 * The client sets timers in the past, which do no harm; Node.js warns of the first one in a process and of no other. That
 * one is set here, unheard.
 */
function spendNegativeTimerWarning(): void {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    systemClock.after(-1, () => undefined)();
  } finally {
    process.emitWarning = emitWarning;
  }
}
