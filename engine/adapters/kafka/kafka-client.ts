// A kafkajs client as the adapters use it. It writes to our log, and its sockets can be closed at once. Warnings of Node.js and
// the library do not reach the terminal.
//   open   connects on demand
//   cut    every socket is closed, pending requests fail, new connections fail at once: for a shutdown that must not wait

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
    // Set only if TLS is enabled.
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
 * The client logs every rebalance and lost connection as an error. The adapters handle these, and readers and publishers log
 * the result, so here they are debug messages. Fields are selected, because the client's entries may contain anything.
 */
function writeTo(log: Logger, { namespace, level, log: entry }: LogEntry): void {
  const { message, broker, topic, partition, groupId, error, retryCount } = entry;
  const fields = { client: namespace, broker, topic, partition, groupId, retryCount, said: message, reason: error };
  if (level === logLevel.DEBUG) log.trace(fields, 'Kafka client');
  else log.debug(fields, 'Kafka client');
}

/**
 * The client sets timers in the past, which is harmless, but Node.js prints a warning for the first one in a process. We
 * trigger that warning here and suppress it.
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
