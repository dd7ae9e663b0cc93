// The settings of one broker of a test: small, quick to start and to notice, and with few files.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Certificate } from './certificate.ts';

export interface KafkaAccount {
  readonly mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly username: string;
  readonly password: string;
}

export interface KafkaPorts {
  /** Where clients are told to go; there is the broker itself, or a relay. */
  readonly plain: number;
  /** Where the broker listens for them. */
  readonly behind: number;
  readonly controller: number;
  readonly tls: number;
  readonly login: number;
}

type Properties = Readonly<Record<string, string | number>>;

/** @param node from 1; @param all ports of every broker */
export function brokerSettings(
  node: number,
  folder: string,
  all: readonly KafkaPorts[],
  certificate?: Certificate,
): Properties {
  const ports = all[node - 1];
  if (!ports) throw new Error(`no ports for broker ${node}`);
  const copies = all.length;
  return {
    'process.roles': 'broker,controller',
    'node.id': node,
    'controller.quorum.voters': all.map(({ controller }, i) => `${i + 1}@127.0.0.1:${controller}`).join(),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAIN',
    listeners: `PLAIN://127.0.0.1:${ports.behind},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `PLAIN://127.0.0.1:${ports.plain}`,
    'listener.security.protocol.map': 'PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,LOGIN:SASL_SSL',
    'log.dirs': join(folder, 'data'),
    'num.partitions': 4,
    'default.replication.factor': copies,
    'min.insync.replicas': Math.ceil((copies + 1) / 2),
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': copies,
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1_000,
    'num.network.threads': 2,
    'num.io.threads': 2,
    'background.threads': 2,
    // Half of the memory, if nobody says otherwise.
    'log.cleaner.dedupe.buffer.size': 4_194_304,
    'log.retention.check.interval.ms': 200,
    'log.initial.task.delay.ms': 200,
    ...(certificate ? securitySettings(folder, ports, certificate) : {}),
  };
}

function securitySettings(folder: string, ports: KafkaPorts, { certFile, keyFile }: Certificate): Properties {
  const keyStore = join(folder, 'key-and-certificate.pem');
  writeFileSync(keyStore, `${readFileSync(keyFile, 'utf8')}${readFileSync(certFile, 'utf8')}`);
  const login = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  return {
    listeners: [
      `PLAIN://127.0.0.1:${ports.behind}`,
      `CONTROLLER://127.0.0.1:${ports.controller}`,
      `TLS://127.0.0.1:${ports.tls}`,
      `LOGIN://127.0.0.1:${ports.login}`,
    ].join(),
    'advertised.listeners': [
      `PLAIN://127.0.0.1:${ports.plain}`,
      `TLS://localhost:${ports.tls}`,
      `LOGIN://localhost:${ports.login}`,
    ].join(),
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keyStore,
    'listener.name.login.sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.login.scram-sha-256.sasl.jaas.config': login,
    'listener.name.login.scram-sha-512.sasl.jaas.config': login,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // Who does not log in, brokers among them.
    'super.users': 'User:ANONYMOUS',
    'allow.everyone.if.no.acl.found': 'true',
  };
}

export const propertiesOf = (settings: Properties): string =>
  Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
