// `installer.lanes`: one worker lane per kind of job (config/REFERENCE.md). `upload` and `retry` are ours.

import type { LiveKind } from '../schema-node.ts';
import { duration, filled, integer, text } from './field.ts';

const retry = filled('How a job is retried after a transient failure.', {
  attempts: integer('Maximum number of attempts, including the first.', { minimum: 1, maximum: 100, default: 12 }),
  base: duration('Delay before the second attempt; it doubles with each attempt, with jitter.', '1s', {
    positive: true,
  }),
  max: duration('Maximum delay.', '10m', { positive: true }),
});

const NO_PUBLISHER = { 'x-ignored': 'the lane hands on its work as jobs and publishes nothing' };

const short = (description: string, value: string, more: object = {}) =>
  text(description, { minLength: 3, maxLength: 32, default: value, ...more });

interface MailboxOptions {
  readonly 'x-live'?: LiveKind;
}

export const mailboxKeys = (queue: number, workers: number, options: MailboxOptions = {}) => ({
  inMemoryQueueSize: integer('Jobs that are claimed and held in memory.', {
    minimum: 1,
    maximum: 100,
    default: queue,
    'x-allowed': 'a whole number 1..100: other processes cannot run the jobs that this one holds',
    ...options,
  }),
  workerCount: integer('Maximum number of jobs that run at the same time.', {
    minimum: 1,
    maximum: 20,
    default: workers,
    'x-allowed':
      'a whole number 1..20: the workers of one process share its connections to the database, of which there are at most 32; for more workers, start another process',
    ...options,
  }),
});

export const LIVE_LANE = { 'x-live': 'lane-bounds' } as const;

interface LaneDefaults {
  readonly consumer: string;
  readonly queue: number;
  readonly workers: number;
  /** The default channel and key are this name with `-triggers` and `-trigger`. */
  readonly event: string;
}

const laneKeys = ({ consumer, queue, workers, event }: LaneDefaults) => ({
  brokerConsumerId: short('Name of the lane in the metrics of Kafka; one client reads for all lanes.', consumer),
  ...mailboxKeys(queue, workers, LIVE_LANE),
  eventChannel: short('Channel (topic).', `${event}-triggers`),
  eventKey: short('Message key; messages of the channel with another key are dropped.', `${event}-trigger`),
  retry,
});

const lane = (description: string, defaults: LaneDefaults) => filled(description, laneKeys(defaults));
const publishingLane = (description: string, producer: string, defaults: LaneDefaults) =>
  filled(description, {
    ...laneKeys(defaults),
    brokerProducerId: short('Names the lane as a publisher.', producer, NO_PUBLISHER),
  });

export const lanes = filled('Job workers, one lane per kind of job.', {
  upload: filled('Inspects and repacks uploads. Fed by job rows, not by a channel.', {
    ...mailboxKeys(10, 4, LIVE_LANE),
    retry,
  }),
  import: lane('Calls the plugin to validate and convert an upload.', {
    consumer: 'import-lane-receive',
    queue: 10,
    workers: 10,
    event: 'import',
  }),
  install: lane('Calls the plugin to install the data into the targets.', {
    consumer: 'install-data-lane-receive',
    queue: 5,
    workers: 5,
    event: 'install',
  }),
  hardDelete: lane('Removes the remains of a dataset whose metadata was removed.', {
    consumer: 'hard-delete-lane-receive',
    queue: 10,
    workers: 10,
    event: 'hard-delete',
  }),
  softDelete: lane('Uninstalls a dataset that is marked deleted.', {
    consumer: 'soft-delete-lane-receive',
    queue: 5,
    workers: 5,
    event: 'soft-delete',
  }),
  sharing: lane('Updates in the targets who may see a dataset.', {
    consumer: 'share-lane-receive',
    queue: 10,
    workers: 10,
    event: 'share',
  }),
  updateMeta: publishingLane('Writes metadata to the cache database and the targets.', 'update-meta-lane-send', {
    consumer: 'update-meta-lane-receive',
    queue: 5,
    workers: 5,
    event: 'update-meta',
  }),
  reconciliation: publishingLane(
    'Compares one dataset with the object store and queues the missing work.',
    'reconciliation-lane-send',
    {
      consumer: 'reconciliation-lane-receive',
      queue: 10,
      workers: 10,
      event: 'reconciliation',
    },
  ),
});
