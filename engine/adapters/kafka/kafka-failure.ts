// Errors of the Kafka client as failures, by their class and the broker's error code: what another try may mend is
// transient, a broker that was not reached is unreachable, the rest (no right, an impossible topic) is a defect.

import { Failure, messageOf } from '../../runtime/failure.ts';

const UNREACHABLE = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSBrokerNotFound',
  'KafkaJSLockTimeout',
]);

/** @param what was attempted, naming the topics */
export function kafkaFailure(what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const cause = rootOf(error);
  const { name, type, retriable } = cause as { name?: string; type?: string; retriable?: boolean };
  const message = `${what}: ${type ?? messageOf(cause)}`;
  if (name !== undefined && UNREACHABLE.has(name))
    return new Failure('transient', message, { cause, unreachable: true });
  return new Failure(retriable === false || !isOfClient(name) ? 'defect' : 'transient', message, { cause });
}

/** The client wraps what it gave up on. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && isOfClient(error.name) && error.cause instanceof Error ? rootOf(error.cause) : error;
}

const isOfClient = (name: string | undefined): boolean => name?.startsWith('KafkaJS') ?? false;
