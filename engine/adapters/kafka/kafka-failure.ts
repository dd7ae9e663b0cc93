// Maps errors of the Kafka client to failures, by their class and the broker's error code. Errors that a retry may fix are
// transient; if no broker was reached, they are also unreachable. All others (no permission, an impossible topic) are defects.

import { Failure, messageOf } from '../../runtime/failure.ts';

const UNREACHABLE = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSBrokerNotFound',
  'KafkaJSLockTimeout',
]);

/** @param what was attempted, including the topics */
export function kafkaFailure(what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const cause = rootOf(error);
  const { name, type, retriable } = cause as { name?: string; type?: string; retriable?: boolean };
  const message = `${what}: ${type ?? messageOf(cause)}`;
  if (name !== undefined && UNREACHABLE.has(name))
    return new Failure('transient', message, { cause, unreachable: true });
  return new Failure(retriable === false || !isOfClient(name) ? 'defect' : 'transient', message, { cause });
}

/** The client wraps the error on which it gave up. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && isOfClient(error.name) && error.cause instanceof Error ? rootOf(error.cause) : error;
}

const isOfClient = (name: string | undefined): boolean => name?.startsWith('KafkaJS') ?? false;
