// What a process depends on, and how each of it goes away for a while and comes back.

import type { Site } from './site.ts';

export interface Outage {
  readonly name: string;
  begin(site: Site): Promise<void> | void;
  end(site: Site): Promise<void> | void;
}

export const OUTAGES: readonly Outage[] = [
  { name: 'Kafka hangs', begin: ({ at }) => at.kafka.pause(), end: ({ at }) => at.kafka.continue() },
  { name: 'Kafka is killed', begin: ({ at }) => at.kafka.down(), end: ({ at }) => at.kafka.up() },
  { name: 'RabbitMQ hangs', begin: ({ at }) => at.rabbit.pause(), end: ({ at }) => at.rabbit.continue() },
  {
    // What the store wants to announce meanwhile is lost.
    name: 'RabbitMQ is gone',
    begin: ({ at }) => at.rabbit.stop(),
    end: ({ at }) => at.rabbit.start(),
  },
  { name: 'the S3 gateway hangs', begin: ({ at }) => at.store.pause(), end: ({ at }) => at.store.continue() },
  {
    name: 'the S3 gateway is killed',
    begin: ({ at }) => at.store.killGateway(),
    end: ({ at }) => at.store.startGateway(),
  },
  {
    name: 'the cache database is gone',
    begin: ({ cacheRelay }) => cacheRelay.cut(),
    end: ({ cacheRelay }) => cacheRelay.restore(),
  },
  {
    name: 'the cache database hangs',
    begin: ({ cacheRelay }) => cacheRelay.hang(),
    end: ({ cacheRelay }) => cacheRelay.restore(),
  },
  {
    name: 'the databases of a target are gone',
    begin: ({ betaRelay }) => betaRelay.cut(),
    end: ({ betaRelay }) => betaRelay.restore(),
  },
  {
    name: 'the databases of a target hang',
    begin: ({ betaRelay }) => betaRelay.hang(),
    end: ({ betaRelay }) => betaRelay.restore(),
  },
  {
    // Connections to the target are broken too, so that its address is asked for.
    name: 'the directory is gone',
    async begin({ at, betaRelay }) {
      await at.directory.stop();
      betaRelay.cut();
      betaRelay.restore();
    },
    end: ({ at }) => at.directory.start(),
  },
];
