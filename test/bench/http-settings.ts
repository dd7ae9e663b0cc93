// `containerCore.http` as it is when nothing is configured.

import type { Configuration } from '../../config/configuration.ts';

const SECOND = 1_000;
const MIB = 1024 * 1024;

export const HTTP_DEFAULTS: Configuration['containerCore']['http'] = {
  bindHost: '127.0.0.1',
  enableCors: false,
  trustProxy: false,
  basePath: '',
  assumedApiVersion: '1.8.0',
  limits: {
    maxHeaderSize: 16_384,
    maxJsonSize: MIB,
    maxConnections: 1_000,
    connectionsPerAddress: 200,
    maxPipelined: 16,
    maxUnsentSize: 32 * MIB,
    minTransferRate: 1024,
    handshakeTimeoutMs: 10 * SECOND,
    uploadsPerUser: 4,
    waitingPerUser: 1_000,
    eventStreamsPerUser: 20,
    eventStreams: 500,
    headerTimeoutMs: 10 * SECOND,
    idleTimeoutMs: 60 * SECOND,
    keepAliveTimeoutMs: 5 * SECOND,
  },
};
