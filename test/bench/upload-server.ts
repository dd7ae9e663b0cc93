// Servers that store one upload a request, each a program of its own: upload-server.ts KIND ORDER (JSON).
//   oursDirectory, oursS3   the product's front end with one route, its form reader, its upload session and its store
//   rawS3                   bare node:http that pipes the file into one PUT, signed beforehand, of known length
//   sdkS3                   bare node:http that hands the body to @aws-sdk/lib-storage
//   counts                  bare node:http that reads the body and counts its bytes
// A raw one stores the body as it is, form and all.

import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Client } from 'minio';
import { frontEnd, noUsers } from '../../bin/compose/front-end.ts';
import { openDirectoryStore } from '../../engine/adapters/directory/directory-store.ts';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { createLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { UploadSession } from '../../http/installer/uploads/upload-session.ts';
import { MULTIPART_LIMITS, readMultipart } from '../../http/kernel/bodies/multipart.ts';
import { AuditTrail } from '../../http/kernel/pipeline/audit-trail.ts';
import type { Route } from '../../http/kernel/pipeline/route.ts';
import { HTTP_DEFAULTS } from './http-settings.ts';
import { listensOn } from './program.ts';

export interface UploadOrder {
  /** Of the directory store. */
  readonly path?: string;
  readonly s3?: S3Options;
}

const [kind = '', text = '{}'] = process.argv.slice(2);
const order = JSON.parse(text) as UploadOrder;
const LARGEST = 2 ** 40;
const log = createLogger({ level: 'info', to: { file: '/dev/null' } });
const never = new AbortController().signal;

/** Of the database there are only the answers, here and below: one row per upload is nothing beside a gigabyte. */
const journal = { note: async () => [1], release: async () => {}, drop: async () => {}, orphans: async () => [] };
const uploads = {
  begin: async () => 'begun' as const,
  grow: async () => true,
  accept: async () => undefined,
  usage: async () => 0,
  waiting: async () => 0,
  giveUp: async () => true,
  abandon: async () => undefined,
};

async function ours(store: ObjectStore): Promise<number> {
  const ports = { store, uploads, eventLog: { nextEventId: async () => 1 }, clock: systemClock, log };
  const route: Route = {
    method: 'POST',
    path: '/upload',
    access: 'open',
    operationId: 'upload',
    summary: 'Takes an upload',
    responses: { 200: { description: 'taken' } },
    async handler(context) {
      const { request, signal } = context;
      const at = { owner: '1' as UserId, dataset: 'bench' as DatasetId };
      const announcedBytes = Number(request.headers['content-length']);
      const limits = { maxUploadBytes: LARGEST, quotaBytes: LARGEST, waitingPerUser: LARGEST, announcedBytes };
      const session = new UploadSession(at, ports, limits);
      let bytes = 0;
      const onPart: Parameters<typeof readMultipart>[2] = async ({ fileName = '', body }) => {
        bytes += (await session.store('raw', fileName, body, signal)).size;
      };
      await readMultipart(request, MULTIPART_LIMITS, onPart, signal);
      context.json(200, { bytes });
    },
  };
  const auth = noUsers({ clock: systemClock, log });
  const options = { name: 'installer' as const, host: '127.0.0.1', port: 0, routes: [route], checks: [], auth };
  const metrics = new Metrics();
  const trail = new AuditTrail({ table: undefined, clock: systemClock, log, metrics });
  const parts = { clock: systemClock, log, metrics, ready: () => true, trail };
  const { spec, url } = await frontEnd({ http: HTTP_DEFAULTS }, options, parts);
  await spec.create().start(never);
  return Number(new URL(url()).port);
}

/** Bare node:http. */
async function bare(take: (request: IncomingMessage, bytes: number) => Promise<unknown>): Promise<number> {
  const server = createServer((request, response) => {
    const bytes = Number(request.headers['content-length']);
    take(request, bytes).then(
      () => response.end(JSON.stringify({ bytes })),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function s3(): S3Options {
  if (!order.s3) throw new Error(`${kind} needs {s3}`);
  return order.s3;
}

async function rawS3(): Promise<number> {
  const { host: endPoint, port, accessKey, secretKey, bucket } = s3();
  const client = new Client({ endPoint, port, useSSL: false, accessKey, secretKey, region: 'us-east-1' });
  const url = await client.presignedPutObject(bucket, 'raw');
  return bare(async (request, bytes) => {
    const put = httpRequest(url, { method: 'PUT', headers: { 'content-length': bytes } });
    const answered = new Promise<IncomingMessage>((resolve, reject) => put.on('response', resolve).on('error', reject));
    await pipeline(request, put);
    const { statusCode } = (await answered).resume();
    if (statusCode !== 200) throw new Error(`the store answered ${statusCode}`);
  });
}

async function count(request: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of request) bytes += (chunk as Buffer).length;
  if (bytes !== Number(request.headers['content-length'])) throw new Error(`${bytes} bytes came`);
}

function sdkS3(): Promise<number> {
  const { host, port, accessKey, secretKey, bucket: Bucket } = s3();
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const endpoint = `http://${host}:${port}`;
  const client = new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true });
  return bare((request) => new Upload({ client, params: { Bucket, Key: 'sdk', Body: request } }).done());
}

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  oursDirectory: async () =>
    ours(await openDirectoryStore({ path: order.path ?? '', journal, clock: systemClock, log }, never)),
  oursS3: () => ours(new S3Store(s3(), { log })),
  counts: () => bare(count),
  ...{ rawS3, sdkS3 },
};
const open = SERVERS[kind];
if (!open) throw new Error(`upload-server.ts ${Object.keys(SERVERS).join('|')}`);
listensOn(await open());
