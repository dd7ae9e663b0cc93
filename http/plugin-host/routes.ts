// The plugin wire protocol over HTTP. Besides the common status codes, it has its own: 418, 420, 555.

import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import {
  type CallOutcome,
  SCRIPT_RAN,
  PLUGIN_STATUS as STATUS,
  validationDocument,
  WANTS_OUTPUT,
} from '../../engine/ports/plugin-client.ts';
import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import { Busy, Failure, hasNoRoom, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import { readJson } from '../kernel/bodies/body.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { HttpError, unavailable } from '../kernel/pipeline/errors.ts';
import type { Route, RouteBody } from '../kernel/pipeline/route.ts';
import {
  BUILD,
  COMMON,
  IMPORT_BODY,
  IMPORTED,
  INSTALL_DATA_BODY,
  INSTALL_FILES_BODY,
  INSTALL_META_BODY,
  MISSING_DEPENDENCY,
  UNINSTALL_BODY,
  VALIDATION,
} from './documents.ts';
import type { CallWorkspace, HostedCalls, Payload } from './hosted-calls.ts';
import {
  parseImport,
  parseInstallData,
  parseInstallFiles,
  parseInstallMeta,
  parseTarget,
  parseUninstall,
} from './request-documents.ts';
import { DOCUMENT_BYTES, readParts } from './request-parts.ts';

export interface BuildManifest {
  readonly gitTag: string;
  readonly gitCommit: string;
  readonly gitBranch: string;
  readonly gitUrl: string;
  readonly buildId: string;
  readonly buildNumber: string;
  readonly buildTime: string;
}

export interface PluginRoutesOptions {
  /** Required by every call that changes something. Absent: no token is required. */
  readonly token?: string | undefined;
  /** Maximum size of a payload, and of a data properties file. */
  readonly maxPayloadBytes: number;
  readonly build: BuildManifest;
  /** Free space of the disks that scripts write to. Absent: it is not checked. */
  readonly room?: DiskRoom | undefined;
}

const RETRY_SECONDS = 30;

type Reply = CallOutcome | { readonly kind: 'zip'; readonly file: string; readonly bytes: number };
type Call = (context: RequestContext, workspace: CallWorkspace, signal: AbortSignal) => Promise<Reply>;

export function pluginRoutes(host: HostedCalls, options: PluginRoutesOptions): readonly Route[] {
  const { maxPayloadBytes, build } = options;
  const post = (
    path: string,
    name: string,
    summary: string,
    body: RouteBody,
    responses: Route['responses'],
    call: Call,
  ): Route => ({
    method: 'POST',
    path,
    ...(path.startsWith('/uninstall') ? { servedWhenFull: true } : {}),
    access: 'open',
    token: { secret: options.token, host: 'this plugin host', machine: 'plugin host token' },
    operationId: name,
    summary,
    body,
    responses: { ...responses, ...COMMON },
    handler: (context) => serve(context, host, options, call),
  });
  return [
    post(
      '/import',
      'importDataset',
      'Check the files of a dataset and make them ready to be installed',
      IMPORT_BODY,
      { 200: IMPORTED, 418: VALIDATION },
      async ({ request }, workspace, signal) => {
        const payload = payloadAt(workspace.path('import.zip'));
        const parts = { documents: ['details'], strict: true, payloadFile: payload.file, maxPayloadBytes } as const;
        const { details } = await readParts(request, parts, signal);
        const files = { payload, dataFile: workspace.path('data.zip') };
        const outcome = await host.import(parseImport(details), workspace, files, signal);
        if (outcome.kind !== 'imported') return outcome;
        return { kind: 'zip', ...(await host.packReply(outcome, workspace, signal)) };
      },
    ),
    post(
      '/install/data',
      'installData',
      'Install the files of a dataset into a target',
      INSTALL_DATA_BODY,
      { 200: VALIDATION, 418: VALIDATION, 420: MISSING_DEPENDENCY },
      async (context, workspace, signal) => {
        const payload = payloadAt(workspace.path('install-ready.zip'));
        const documents = ['details', 'meta', 'manifest'] as const;
        const onDocument = async (name: string, text: string): Promise<void> => {
          // Receiving the data may take long, and this process may be killed meanwhile.
          if (name === 'details') await host.expectInstall(parseTarget(text));
        };
        const parts = { documents, strict: false, payloadFile: payload.file, maxPayloadBytes, onDocument };
        const request = parseInstallData(await readParts(context.request, parts, signal));
        return host.installData(request, workspace, payload, signal);
      },
    ),
    post(
      '/install/meta',
      'installMeta',
      'Install the metadata of a dataset into a target',
      INSTALL_META_BODY,
      { 200: { description: 'Installed' }, 418: VALIDATION },
      async ({ request }, workspace, signal) => {
        const propertiesDir = await workspace.properties();
        const parts = { documents: ['details'], strict: false, propertiesDir, maxPayloadBytes } as const;
        const { details } = await readParts(request, parts, signal);
        return host.installMeta(parseInstallMeta(details), workspace, signal);
      },
    ),
    post(
      '/install/files',
      'installFiles',
      'Copy the files of a dataset to a target from another one that shares its rows',
      INSTALL_FILES_BODY,
      { 200: VALIDATION, 420: MISSING_DEPENDENCY },
      async ({ request }, workspace, signal) => {
        const parts = { documents: ['details'], strict: false, maxPayloadBytes } as const;
        const { details } = await readParts(request, parts, signal);
        return host.installFiles(parseInstallFiles(details), workspace, signal);
      },
    ),
    post(
      '/uninstall/files',
      'uninstallFiles',
      'Remove the files of a dataset from a target, and leave the rows to another one',
      UNINSTALL_BODY,
      { 200: { description: 'Removed, or was not installed' } },
      async ({ request }, workspace, signal) =>
        host.uninstallFiles(parseUninstall(await readJson(request, DOCUMENT_BYTES)), workspace, signal),
    ),
    post(
      '/uninstall',
      'uninstallDataset',
      'Remove a dataset from a target',
      UNINSTALL_BODY,
      { 200: { description: 'Removed, or was not installed' } },
      async ({ request }, workspace, signal) =>
        host.uninstall(parseUninstall(await readJson(request, DOCUMENT_BYTES)), workspace, signal),
    ),
    {
      method: 'GET',
      audit: 'none',
      path: '/service-info',
      access: 'open',
      operationId: 'getServiceInfo',
      summary: 'Shows the build manifest',
      responses: { 200: BUILD },
      handler: (context) => context.json(200, { manifest: build }),
    },
  ];
}

async function serve(
  context: RequestContext,
  host: HostedCalls,
  { room }: PluginRoutesOptions,
  call: Call,
): Promise<void> {
  try {
    using _place = host.admit();
    await using workspace = await host.workspace(context.log);
    const reply = await call(context, workspace, context.signal).catch((error: unknown) => failed(context, error));
    if (reply.kind === 'later') throw lacking(context, reply.message, outputOf(context, reply));
    const lack = isFailure(reply) ? await room?.lack() : undefined;
    if (lack !== undefined) throw lacking(context, lack);
    await send(context, reply);
  } catch (error) {
    throw error instanceof Busy ? unavailable(error.message, error.retryAfterSeconds) : error;
  }
}

/** A call that fails while a disk is full fails because of the disk, whatever a script says of its data. The caller retries. */
const isFailure = ({ kind }: Reply): boolean => kind !== 'done' && kind !== 'valid' && kind !== 'zip';

/** Something ran, so the caller must not take this 503 for a call that did nothing. */
function lacking(context: RequestContext, lack: string, extra: Readonly<Record<string, unknown>> = {}): HttpError {
  context.response.setHeader(SCRIPT_RAN, 'true');
  const { word, message, code, headers } = unavailable(lack, RETRY_SECONDS);
  return new HttpError(word, message, { code, headers, extra });
}

/** What a failed script printed, for callers that ask for it. */
const outputOf = ({ request }: RequestContext, { output }: { readonly output?: string }): { output?: string } =>
  output === undefined || request.headers[WANTS_OUTPUT] === undefined ? {} : { output };

/** The caller is a service of ours and not a user, so the reply says what went wrong. */
function failed(context: RequestContext, error: unknown): CallOutcome {
  if (error instanceof HttpError || error instanceof Busy || context.signal.aborted) throw error;
  if (error instanceof Failure && kindOf(error) === 'rejected') throw error;
  if (hasNoRoom(error)) throw lacking(context, messageOf(error));
  context.log.error({ err: error }, 'plugin call failed');
  return { kind: 'server-error', message: messageOf(error) };
}

async function send(context: RequestContext, reply: Exclude<Reply, { kind: 'later' }>): Promise<void> {
  switch (reply.kind) {
    case 'done':
      return context.empty(200);
    case 'valid':
      return context.json(STATUS.ok, validationDocument(true, reply.messages));
    case 'invalid':
      return context.json(STATUS.invalid, validationDocument(false, reply.messages));
    case 'missing-dependency':
      return context.json(STATUS.missingDependency, { warnings: reply.lines });
    case 'script-error': {
      const { script, exitCode, message } = reply;
      return context.json(STATUS.scriptError, { script, 'exit-code': exitCode, message, ...outputOf(context, reply) });
    }
    case 'server-error':
      return context.json(STATUS.serverError, { message: reply.message, ...outputOf(context, reply) });
    case 'zip': {
      const { response } = context;
      response.writeHead(200, { 'content-type': 'application/zip', 'content-length': reply.bytes });
      return pipeline(createReadStream(reply.file), response, { signal: context.signal });
    }
    default:
      return reply satisfies never;
  }
}

const payloadAt = (file: string): Payload => ({ file, release: () => rm(file) });
