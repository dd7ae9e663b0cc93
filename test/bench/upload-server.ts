// Servers that take one upload a request, each a program of its own: upload-server.ts KIND [PORT OF THE STORE].
//   ours, raw, fastifyBusboy, busboy       count what comes and throw it away; raw pipes the body as it is
//   oursStored, rawStored, minioStored     put it into the object store
// All answer `{bytes, crc}`: of the file, of the raw ones bytes of the whole body; crc only for files named `*.checked`.

import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { Busboy as FastifyBusboy } from '@fastify/busboy';
import busboy from 'busboy';
import { Client } from 'minio';
import { frontEnd, noUsers } from '../../bin/compose/front-end.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import { giveBack } from '../../engine/runtime/give-back.ts';
import { createLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { UploadSession } from '../../http/installer/uploads/upload-session.ts';
import { MULTIPART_LIMITS, readMultipart } from '../../http/kernel/bodies/multipart.ts';
import { AuditTrail } from '../../http/kernel/pipeline/audit-trail.ts';
import type { Route } from '../../http/kernel/pipeline/route.ts';
import { HTTP_DEFAULTS } from './http-settings.ts';
import { listensOn } from './program.ts';
import type { Received } from './transfer.ts';

const [kind = '', storePort = '0'] = process.argv.slice(2);
const BUCKET = 'bench';
const KEYS = { accessKey: 'bench', secretKey: 'benchbench' } as const;
const LARGEST = 2 ** 40;

/** Throws everything away; with chunks of its own it gives their memory back, as the stores do. */
class NullSink extends Writable {
  #bytes = 0;
  #crc = 0;
  readonly #checked: boolean;
  readonly #ownChunks: boolean;

  constructor(fileName: string, ownChunks = false) {
    super();
    this.#ownChunks = ownChunks;
    this.#checked = fileName.endsWith('.checked');
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#bytes += chunk.length;
    if (this.#checked) this.#crc = crc32(chunk, this.#crc);
    if (this.#ownChunks) giveBack(chunk);
    done();
  }

  get received(): Received {
    return { bytes: this.#bytes, crc: this.#crc.toString(16).padStart(8, '0') };
  }
}

async function ours(): Promise<number> {
  return await listening(async (request, signal) => {
    let received: Received | undefined;
    const onPart = async ({ fileName = '', body }: { fileName: string | undefined; body: Readable }): Promise<void> => {
      const sink = new NullSink(fileName, true);
      await pipeline(body, sink);
      received = sink.received;
    };
    await readMultipart(request, MULTIPART_LIMITS, onPart, signal);
    return received;
  });
}

async function oursStored(): Promise<number> {
  const log = createLogger({ level: 'info', to: { file: '/dev/null' } });
  const address = { host: '127.0.0.1', port: Number(storePort), bucket: BUCKET, region: 'us-east-1' } as const;
  const store = new S3Store({ ...address, ...KEYS, tls: undefined, pathStyle: true }, { log });
  // Of the database there are only the answers: one row per upload is nothing beside a gigabyte.
  const uploads = {
    begin: async () => true,
    grow: async () => true,
    accept: async () => undefined,
    usage: async () => 0,
    waiting: async () => 0,
    giveUp: async () => true,
    abandon: async () => undefined,
  };
  const ports = { store, uploads, eventLog: { nextEventId: async () => 1 }, clock: systemClock, log };
  return await listening(async (request, signal) => {
    let received: Received | undefined;
    const at = { owner: '1' as UserId, dataset: 'bench' as DatasetId };
    const length = Number(request.headers['content-length']);
    const limits = { maxUploadBytes: LARGEST, quotaBytes: LARGEST, announcedBytes: length };
    const session = new UploadSession(at, ports, limits);
    const onPart = async ({ fileName = '', body }: { fileName: string | undefined; body: Readable }): Promise<void> => {
      const { size } = await session.store('raw', fileName, body, signal);
      received = { bytes: size, crc: '' };
    };
    await readMultipart(request, MULTIPART_LIMITS, onPart, signal);
    return received;
  });
}

/** The product's own front end with one route. */
async function listening(take: (request: IncomingMessage, signal: AbortSignal) => Promise<unknown>): Promise<number> {
  const route: Route = {
    method: 'POST',
    path: '/upload',
    access: 'open',
    operationId: 'upload',
    summary: 'Takes an upload',
    responses: { 200: { description: 'taken' } },
    handler: async (context) => context.json(200, await take(context.request, context.signal)),
  };
  const log = createLogger({ level: 'info', to: { file: '/dev/null' } });
  const auth = noUsers({ clock: systemClock, log });
  const options = { name: 'installer' as const, host: '127.0.0.1', port: 0, routes: [route], checks: [], auth };
  const metrics = new Metrics();
  const trail = new AuditTrail({ table: undefined, clock: systemClock, log, metrics });
  const parts = { clock: systemClock, log, metrics, ready: () => true, trail };
  const { spec, url } = await frontEnd({ http: HTTP_DEFAULTS }, options, parts);
  await spec.create().start(new AbortController().signal);
  return Number(new URL(url()).port);
}

/** Bare node:http. */
async function bare(take: (request: IncomingMessage) => Promise<Received | undefined>): Promise<number> {
  const server = createServer((request, response) => {
    take(request).then(
      (received) => response.end(JSON.stringify(received)),
      (error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const raw = (): Promise<number> =>
  bare(async (request) => {
    const sink = new NullSink('');
    await pipeline(request, sink);
    return sink.received;
  });

const withFastifyBusboy = (): Promise<number> =>
  bare((request) => {
    const headers = { ...request.headers, 'content-type': request.headers['content-type'] ?? '' };
    const parser = new FastifyBusboy({ headers });
    return fileOf(request, parser, (take) => parser.on('file', (_name, body, fileName) => take(fileName ?? '', body)));
  });

const withBusboy = (): Promise<number> =>
  bare((request) => {
    const parser = busboy({ headers: request.headers });
    return fileOf(request, parser, (take) =>
      parser.on('file', (_name, body, { filename }) => take(filename ?? '', body)),
    );
  });

async function fileOf(
  request: IncomingMessage,
  parser: Writable,
  onFile: (take: (fileName: string, body: Readable) => void) => unknown,
): Promise<Received | undefined> {
  let writing: Promise<Received> | undefined;
  onFile((fileName, body) => {
    const sink = new NullSink(fileName);
    writing = pipeline(body, sink).then(() => sink.received);
  });
  await pipeline(request, parser);
  return await writing;
}

/** One put of the whole body: its length is known. */
const rawStored = (): Promise<number> =>
  bare(async (request) => {
    const bytes = Number(request.headers['content-length']);
    const options = { method: 'PUT', host: '127.0.0.1', port: Number(storePort), path: `/${BUCKET}/raw` };
    const put = httpRequest({ ...options, headers: { 'content-length': bytes } });
    const answered = new Promise<IncomingMessage>((resolve, reject) => put.on('response', resolve).on('error', reject));
    await pipeline(request, put);
    (await answered).resume();
    return { bytes, crc: '' };
  });

/** The same by the client library, which is told the length. */
const minioStored = (): Promise<number> => {
  const at = { endPoint: '127.0.0.1', port: Number(storePort), useSSL: false, region: 'us-east-1' } as const;
  const client = new Client({ ...at, ...KEYS, pathStyle: true });
  return bare(async (request) => {
    const bytes = Number(request.headers['content-length']);
    await client.putObject(BUCKET, 'minio', request, bytes);
    return { bytes, crc: '' };
  });
};

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  ...{ ours, raw, fastifyBusboy: withFastifyBusboy, busboy: withBusboy },
  ...{ oursStored, rawStored, minioStored },
};
const open = SERVERS[kind];
if (!open) throw new Error(`upload-server.ts ${Object.keys(SERVERS).join('|')}`);
listensOn(await open());
