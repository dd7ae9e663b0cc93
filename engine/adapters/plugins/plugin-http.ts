// Client for plugin servers over HTTP (docs/design/decisions.md#plugin-wire-protocol). Streams in both directions. It runs in
// worker threads, so each client has its own connections. It opens one per call: the server may have closed a kept-alive
// connection just when a call that cannot be repeated is sent.

import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { pluginMetadata } from '../../model/plugin-metadata.ts';
import { passedOn } from '../../model/traceparent.ts';
import {
  type ImportReply,
  type InstallReply,
  jobIdOf,
  type PluginCall,
  type PluginClient,
  type PluginFailure,
  SCRIPT_RAN,
  type UninstallReply,
  WANTS_OUTPUT,
} from '../../ports/plugin-client.ts';
import { aborted, defect, Failure, messageOf } from '../../runtime/failure.ts';
import {
  type AnswerTimes,
  CODE,
  connectionFailure,
  parseScriptError,
  parseServerError,
  parseValidation,
  parseWarnings,
  readText,
  unexpectedCode,
} from './plugin-http-replies.ts';
import {
  compact,
  fields,
  ids,
  JSON_TYPE,
  type MultipartBody,
  multipartBody,
  type Part,
  propertiesPart,
  uninstallBody,
} from './plugin-http-requests.ts';
import { type CallTimes, LONGEST_MS, readTimes } from './shared-times.ts';

const TIMES: CallTimes = { connectMs: 10_000, bodyIdleMs: 60_000, marginMs: 60_000 };
const PROBE_MS = 10_000;
const MAX_REPLY_BYTES = 64 * 1024 ** 3;

const PATHS = {
  import: '/import',
  installData: '/install/data',
  installMeta: '/install/meta',
  installFiles: '/install/files',
  uninstall: '/uninstall',
  uninstallFiles: '/uninstall/files',
} as const;

/**
 * The script whose time limit applies to each call. Copying or removing files takes no longer than the script that wrote them.
 */
const SCRIPTS_OF = {
  import: 'import',
  installData: 'installData',
  installMeta: 'installMeta',
  installFiles: 'installData',
  uninstall: 'uninstall',
  uninstallFiles: 'uninstall',
} as const satisfies Record<keyof typeof PATHS, keyof PluginHttpOptions['scriptMs']>;

/** Responses of a server that knows only the calls of the original protocol. */
const UNKNOWN_CALL: readonly number[] = [404, 405, 501];

export interface PluginHttpOptions {
  /** The plugin's key in the configuration, for messages. */
  readonly key?: string;
  /** `http://host:port`. */
  readonly baseUrl: string;
  /** Sent as Bearer if the plugin host requires one. */
  readonly token?: string | undefined;
  /** Sum of `maxDuration` of the scripts that each call runs. The response may take that long plus a margin. */
  readonly scriptMs: Readonly<Record<'import' | 'installData' | 'installMeta' | 'uninstall', number>>;
  /** Fixed, or shared memory that other threads may change (shared-times.ts). Read at each call. */
  readonly times?: Partial<CallTimes> | SharedArrayBuffer;
  /** Maximum size of an import's reply. */
  readonly maxReplyBytes?: number;
}

/** How long a call may take: its scripts, and the margin as it is now. */
export const callMs = (options: Pick<PluginHttpOptions, 'scriptMs' | 'times'>, name: keyof typeof PATHS): number =>
  Math.min(options.scriptMs[SCRIPTS_OF[name]] + timesOf(options).marginMs, LONGEST_MS);

const timesOf = ({ times }: Pick<PluginHttpOptions, 'times'>): CallTimes =>
  times instanceof SharedArrayBuffer ? readTimes(times) : { ...TIMES, ...times };

interface Answer {
  readonly code: number;
  /** A script ran although the call failed. */
  readonly scriptRan: boolean;
  readonly body: Dispatcher.ResponseData['body'];
}

export class PluginHttp implements PluginClient, AsyncDisposable {
  readonly #options: PluginHttpOptions;
  readonly #agent: Agent;

  constructor(options: PluginHttpOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connect: (to, done) => buildConnector({ timeout: timesOf(options).connectMs })(to, done),
      pipelining: 0,
    });
  }

  import: PluginClient['import'] = (call, signal) => {
    const details = fields({ ...ids(call), 'job-id': jobIdOf(call.eventId) }, { meta: pluginMetadata(call.metadata) });
    const parts: Part[] = [
      { name: 'details', json: details },
      { name: 'payload', file: call.payload, fileName: 'import-ready.zip', contentType: 'application/zip' },
    ];
    return this.#send('import', call, multipartBody(parts, signal), signal, async (answer, where) => {
      if (answer.code === CODE.success) return this.#saveReply(answer, call.replyFile, where, signal);
      const text = await readText(answer.body, where);
      if (answer.code === CODE.invalid) return { kind: 'invalid', validation: parseValidation(text, where) };
      return pluginFailure(answer, text, where);
    });
  };

  installData: PluginClient['installData'] = (call, signal) => {
    const parts: Part[] = [
      { name: 'details', json: fields({ ...ids(call), 'install-target': call.target }, {}) },
      { name: 'meta', json: pluginMetadata(call.metadata) },
      { name: 'manifest', json: compact(call.manifest) },
      { name: 'payload', file: call.payload, fileName: 'install-ready.zip', contentType: 'application/zip' },
      ...call.properties.map(propertiesPart),
    ];
    return this.#send('installData', call, multipartBody(parts, signal), signal, async (answer, where) => {
      const text = await readText(answer.body, where);
      if (answer.code === CODE.missingDependency)
        return { kind: 'missing-dependency', messages: parseWarnings(text, where) };
      return installReply(answer, text, where);
    });
  };

  installMeta: PluginClient['installMeta'] = (call, signal) => {
    const details = fields({ ...ids(call), 'install-target': call.target }, { meta: pluginMetadata(call.metadata) });
    const parts: Part[] = [{ name: 'details', json: details }, ...call.properties.map(propertiesPart)];
    return this.#send('installMeta', call, multipartBody(parts, signal), signal, async (answer, where) =>
      installReply(answer, await readText(answer.body, where), where),
    );
  };

  installFiles: PluginClient['installFiles'] = (call, signal) => {
    const values = { ...ids(call), 'install-target': call.target, 'source-target': call.source };
    const parts: Part[] = [{ name: 'details', json: fields(values, { meta: pluginMetadata(call.metadata) }) }];
    return this.#send('installFiles', call, multipartBody(parts, signal), signal, async (answer, where) => {
      const text = await readText(answer.body, where);
      if (answer.code === CODE.missingDependency)
        return { kind: 'missing-dependency', messages: parseWarnings(text, where) };
      return UNKNOWN_CALL.includes(answer.code) ? unknownCall(where) : installReply(answer, text, where);
    });
  };

  uninstall: PluginClient['uninstall'] = (call, signal) =>
    this.#send('uninstall', call, uninstallBody(call), signal, async (answer, where) =>
      uninstallReply(answer, await readText(answer.body, where), where),
    );

  uninstallFiles: PluginClient['uninstallFiles'] = (call, signal) =>
    this.#send('uninstallFiles', call, uninstallBody(call), signal, async (answer, where) => {
      const text = await readText(answer.body, where);
      return UNKNOWN_CALL.includes(answer.code) ? unknownCall(where) : uninstallReply(answer, text, where);
    });

  async probe(signal: AbortSignal): Promise<void> {
    const { baseUrl } = this.#options;
    try {
      // Every plugin server has this endpoint; its content does not matter.
      const { body } = await this.#agent.request({
        origin: baseUrl,
        path: '/service-info',
        method: 'GET',
        headersTimeout: PROBE_MS,
        bodyTimeout: PROBE_MS,
        signal,
      });
      await body.dump();
    } catch (error) {
      throw failure(error, this.#where(''), { headMs: PROBE_MS, idleMs: PROBE_MS }, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  async #send<Reply>(
    name: keyof typeof PATHS,
    { traceparent }: PluginCall,
    body: MultipartBody | string,
    signal: AbortSignal,
    read: (answer: Answer, where: string) => Promise<Reply>,
  ): Promise<Reply> {
    const { baseUrl, token } = this.#options;
    const { bodyIdleMs } = timesOf(this.#options);
    const path = PATHS[name];
    const where = this.#where(path);
    const headMs = callMs(this.#options, name);
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.contentLength;
    try {
      const {
        statusCode,
        headers,
        body: answer,
      } = await this.#agent.request({
        origin: baseUrl,
        path,
        method: 'POST',
        headers: {
          'content-type': typeof body === 'string' ? JSON_TYPE : body.contentType,
          'content-length': String(length),
          [WANTS_OUTPUT]: 'true',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(traceparent === undefined ? {} : { traceparent: passedOn(traceparent) }),
        },
        body: typeof body === 'string' ? body : body.stream,
        headersTimeout: headMs,
        bodyTimeout: bodyIdleMs,
        signal,
      });
      // A body that is destroyed early emits an error, which is irrelevant.
      answer.on('error', () => undefined);
      try {
        return await read({ code: statusCode, scriptRan: headers[SCRIPT_RAN] !== undefined, body: answer }, where);
      } finally {
        answer.destroy();
      }
    } catch (error) {
      throw failure((typeof body !== 'string' && body.fault()) || error, where, { headMs, idleMs: bodyIdleMs }, signal);
    } finally {
      if (typeof body !== 'string') body.stream.destroy();
    }
  }

  #where(path: string): string {
    const { key, baseUrl } = this.#options;
    return `plugin server ${key === undefined ? '' : `${key} at `}${baseUrl}${path}`;
  }

  /** Writes the complete reply, or leaves no file. */
  async #saveReply(answer: Answer, file: string, where: string, signal: AbortSignal): Promise<ImportReply> {
    const limit = this.#options.maxReplyBytes ?? MAX_REPLY_BYTES;
    let bytes = 0;
    async function* limited(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > limit) throw defect(`${where}: the reply is larger than ${limit} bytes`);
        yield chunk;
      }
    }
    try {
      await pipeline(answer.body, limited, createWriteStream(file), { signal });
      if (bytes === 0) throw defect(`${where}: the reply is empty`);
      return { kind: 'success', replyFile: file };
    } catch (error) {
      await rm(file, { force: true }).catch(() => undefined);
      throw error;
    }
  }
}

function installReply(answer: Answer, text: string, where: string): InstallReply {
  const { code } = answer;
  if (code === CODE.success) return { kind: 'success', validation: parseValidation(text, where) };
  if (code === CODE.invalid) return { kind: 'invalid', validation: parseValidation(text, where) };
  return pluginFailure(answer, text, where);
}

const uninstallReply = (answer: Answer, text: string, where: string): UninstallReply =>
  answer.code === CODE.success ? { kind: 'success' } : pluginFailure(answer, text, where);

const unknownCall = (where: string): PluginFailure => ({
  kind: 'script-error',
  message: `${where}: this plugin server does not support this call. Targets that share a data schema need \`longshore plugin\` as their plugin server`,
});

function pluginFailure({ code, scriptRan }: Answer, text: string, where: string) {
  if (code === CODE.scriptError) return parseScriptError(text, where);
  if (code === CODE.serverError) return parseServerError(text, where);
  throw unexpectedCode(code, text, where, scriptRan);
}

function failure(error: unknown, where: string, times: AnswerTimes, signal: AbortSignal): unknown {
  if (!signal.aborted) return connectionFailure(error, where, times);
  const { reason } = signal;
  return reason instanceof Failure ? reason : aborted(`${where}: ${messageOf(reason)}`, { cause: reason });
}
