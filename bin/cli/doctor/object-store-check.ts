// Checks the object store: the bucket can be listed and notifies the event router's exchange of changes; or the directory
// exists and is writable.

import type { Configuration } from '../../../config/configuration.ts';
import { S3Connection, type S3Options } from '../../../engine/adapters/s3/s3-connection.ts';
import { S3Reader } from '../../../engine/adapters/s3/s3-reader.ts';
import { messageOf } from '../../../engine/runtime/failure.ts';
import { storeData } from '../../compose/store-reader.ts';
import { type Check, codeOf, type Findings, fault, hostPort, networkFix, type Problem, warning } from './check.ts';
import { folderCheck } from './machine-check.ts';

const KEY = 'installer.objectStore';
const NEEDED = ['ObjectCreated', 'ObjectRemoved'] as const;

export function objectStoreCheck({
  objectStore,
  restService,
}: Pick<Configuration['installer'], 'objectStore' | 'restService'>): Check {
  const data = storeData(objectStore);
  return data.driver === 'directory'
    ? folderCheck({
        name: 'object store',
        path: data.path,
        key: `${KEY}.path`,
        made: true,
        wantedBytes: restService.maxUploadSize,
      })
    : bucketCheck(data.options);
}

const bucketCheck = (options: S3Options): Check => ({
  name: 'object store',
  where: `${hostPort(options)}/${options.bucket}`,
  tried: 'list the bucket, read its notifications',
  async look(signal) {
    using connection = new S3Connection(options);
    await new S3Reader(connection).probe(signal);
    return await notifications(connection, signal);
  },
  explain: (error) => explain(error, options.bucket),
});

interface Notification {
  readonly events: readonly string[];
  readonly to: string;
}

async function notifications(connection: S3Connection, signal: AbortSignal): Promise<Findings> {
  let found: readonly Notification[];
  try {
    const what = 'reading its notifications';
    found = notificationsOf(
      await connection.call(what, signal, (_call, client) => client.getBucketNotification(connection.bucket)),
    );
  } catch (error) {
    signal.throwIfAborted();
    const fix =
      'check manually that the bucket sends notifications of created and removed objects to the exchange of installer.queueBroker';
    return { problems: [warning(`its notifications cannot be read: ${messageOf(error)}`, fix)] };
  }
  const silent = NEEDED.filter((kind) => !found.some(({ events }) => events.some((event) => event.includes(kind))));
  const problems: Problem[] =
    silent.length > 0
      ? [
          fault(
            `the bucket sends no notifications for ${silent.join(' and ')}`,
            'add a notification for s3:ObjectCreated:* and s3:ObjectRemoved:* to the exchange of installer.queueBroker',
          ),
        ]
      : [];
  return found.length > 0 ? { says: `notifies ${found.map(({ to }) => to).join(', ')}`, problems } : { problems };
}

/** The client returns parsed XML, in which a list with one element is not an array. */
function notificationsOf(answer: unknown): readonly Notification[] {
  return Object.values(answer as Record<string, unknown>).flatMap((configurations) =>
    listOf(configurations).map((one) => {
      const { Event, Topic, Queue, CloudFunction } = one as Record<string, unknown>;
      return { events: listOf(Event).map(String), to: String(Topic ?? Queue ?? CloudFunction ?? 'somebody') };
    }),
  );
}

const listOf = (value: unknown): readonly unknown[] =>
  value === undefined || value === '' ? [] : Array.isArray(value) ? value.flat() : [value];

function explain(error: unknown, bucket: string): string {
  switch (codeOf(error)) {
    case 'NoSuchBucket':
      return `create the bucket (aws s3 mb s3://${bucket}, or mc mb), or correct ${KEY}.bucketName`;
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
      return `correct ${KEY}.accessToken and secretKey, or create that user in the store`;
    case 'AccessDenied':
      return `give the user of ${KEY}.accessToken s3:ListBucket, GetObject, PutObject and DeleteObject on ${bucket}`;
    case 'AuthorizationHeaderMalformed':
    case 'PermanentRedirect':
      return `set ${KEY}.region and ${KEY}.server to those of the bucket`;
    case 'RequestTimeTooSkewed':
      return 'synchronize both clocks with NTP';
    default:
  }
  const tls = { switch: `${KEY}.https`, options: `${KEY}.tlsOptions` };
  return (
    networkFix(error, { server: 'the object store', key: `${KEY}.server`, tls }) ??
    `check that ${KEY}.server is an S3 server, and check its log`
  );
}
