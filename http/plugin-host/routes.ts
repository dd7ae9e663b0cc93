// The plugin wire protocol over HTTP. Answers in the protocol's own codes: 418, 420, 555 beside the common ones.

import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { type HostReply, PLUGIN_STATUS, SCRIPT_RAN } from '../../engine/ports/plugin-client.ts';
import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import { Busy, Failure, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
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
  /** Needed by every call that changes something; absent = none is. */
  readonly token?: string | undefined;
  /** Of one payload or data properties file. */
  readonly maxPayloadBytes: number;
  readonly build: BuildManifest;
  /** Of the disks that scripts write to; absent = there is always room. */
  readonly room?: DiskRoom | undefined;
}

const RETRY_SECONDS = 30;

type Call = (context: RequestContext, workspace: CallWorkspace, signal: AbortSignal) => Promise<HostReply>;

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
        const payloadFile = workspace.path('import.zip');
        const parts = { documents: ['details'], strict: true, payloadFile, maxPayloadBytes } as const;
        return host.import(await readParts(request, parts, signal), workspace, signal);
      },
    ),
    post(
      '/install/data',
      'installData',
      'Install the files of a dataset into a target',
      INSTALL_DATA_BODY,
      { 200: VALIDATION, 418: VALIDATION, 420: MISSING_DEPENDENCY },
      async ({ request }, workspace, signal) => {
        const payloadFile = workspace.path('install-ready.zip');
        const documents = ['details', 'meta', 'manifest'] as const;
        const onDocument = async (name: string, text: string): Promise<void> => {
          // The data may take long, and a kill may come meanwhile.
          if (name === 'details') await host.expectInstall(text);
        };
        const parts = { documents, strict: false, payloadFile, maxPayloadBytes, onDocument };
        return host.installData(await readParts(request, parts, signal), workspace, signal);
      },
    ),
    post(
      '/install/meta',
      'installMeta',
      'Install the metadata of a dataset into a target',
      INSTALL_META_BODY,
      { 200: { description: 'Installed' }, 418: VALIDATION },
      async ({ request }, workspace, signal) => {
        const { propertiesDir } = workspace;
        const parts = { documents: ['details'], strict: false, propertiesDir, maxPayloadBytes } as const;
        return host.installMeta(await readParts(request, parts, signal), workspace, signal);
      },
    ),
    post(
      '/install/files',
      'installFiles',
      'Bring the files of a dataset to a target from another one whose rows both share',
      INSTALL_FILES_BODY,
      { 200: VALIDATION, 420: MISSING_DEPENDENCY },
      async ({ request }, workspace, signal) => {
        const parts = { documents: ['details'], strict: false, maxPayloadBytes } as const;
        return host.installFiles(await readParts(request, parts, signal), workspace, signal);
      },
    ),
    post(
      '/uninstall/files',
      'uninstallFiles',
      'Take the files of a dataset away from a target, and leave the rows to another one',
      UNINSTALL_BODY,
      { 200: { description: 'Removed, or was not installed' } },
      async ({ request }, workspace, signal) =>
        host.uninstallFiles(await readJson(request, DOCUMENT_BYTES), workspace, signal),
    ),
    post(
      '/uninstall',
      'uninstallDataset',
      'Take a dataset away from a target',
      UNINSTALL_BODY,
      { 200: { description: 'Removed, or was not installed' } },
      async ({ request }, workspace, signal) =>
        host.uninstall(await readJson(request, DOCUMENT_BYTES), workspace, signal),
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
    if (reply.kind === 'later') throw lacking(context, reply.message);
    const lack = await lackBehind(reply, room);
    if (lack !== undefined) throw lacking(context, lack);
    await send(context, reply);
  } catch (error) {
    throw error instanceof Busy ? unavailable(error.message, error.retryAfterSeconds) : error;
  }
}

/** What fails while a disk is full is the disk's fault, whatever a script says of its data: the caller tries again. */
async function lackBehind(reply: HostReply, room: DiskRoom | undefined): Promise<string | undefined> {
  return reply.kind === 'json' && reply.status !== PLUGIN_STATUS.ok ? room?.lack() : undefined;
}

/** The caller must not take this 503 for a call that did nothing. */
function lacking(context: RequestContext, lack: string): HttpError {
  context.response.setHeader(SCRIPT_RAN, 'true');
  return unavailable(lack, RETRY_SECONDS);
}

/** The caller is told what went wrong here: it is a service of ours, not a user. */
function failed(context: RequestContext, error: unknown): HostReply {
  if (error instanceof HttpError || error instanceof Busy || context.signal.aborted) throw error;
  if (error instanceof Failure && kindOf(error) === 'rejected') throw error;
  context.log.error({ err: error }, 'plugin call failed');
  return { kind: 'json', status: PLUGIN_STATUS.serverError, body: { message: messageOf(error) } };
}

async function send(context: RequestContext, reply: Exclude<HostReply, { kind: 'later' }>): Promise<void> {
  switch (reply.kind) {
    case 'empty':
      return context.empty(200);
    case 'json':
      return context.json(reply.status, reply.body);
    case 'zip': {
      const { response } = context;
      response.writeHead(200, { 'content-type': 'application/zip', 'content-length': reply.bytes });
      return pipeline(createReadStream(reply.file), response, { signal: context.signal });
    }
    default:
      return reply satisfies never;
  }
}

// What the routes need of the plugin host that runs behind them (actors/plugin-host/plugin-host.ts).

/** The folders of one call. Disposing removes them. */
interface CallWorkspace extends AsyncDisposable {
  /** Where the data properties of the call are written. */
  readonly propertiesDir: string;
  /** A path in the working directory of the script. */
  path(...parts: readonly string[]): string;
}

/** Calls fail as `rejected` if the request is wrong, and with `Busy` if they wait too long for their turn. */
interface HostedCalls {
  /** A place for one call, taken before its body is read; throws `Busy`. */
  admit(): Disposable;
  /** @param log of the request: what scripts say is logged with its ids */
  workspace(log?: Logger): Promise<CallWorkspace>;
  /** The workspace holds `import.zip`. */
  import(request: { readonly details: string }, workspace: CallWorkspace, signal: AbortSignal): Promise<HostReply>;
  /** Called with the details of an install-data before its data has arrived: nothing of it has begun yet. */
  expectInstall(details: string): Promise<void>;
  /** The workspace holds `install-ready.zip`. */
  installData(
    request: { readonly details: string; readonly meta: string; readonly manifest: string },
    workspace: CallWorkspace,
    signal: AbortSignal,
  ): Promise<HostReply>;
  /** The workspace's properties folder holds the data properties. */
  installMeta(request: { readonly details: string }, workspace: CallWorkspace, signal: AbortSignal): Promise<HostReply>;
  /** Copies files from a target that shares the rows. */
  installFiles(
    request: { readonly details: string },
    workspace: CallWorkspace,
    signal: AbortSignal,
  ): Promise<HostReply>;
  /** @param body parsed JSON */
  uninstall(body: unknown, workspace: CallWorkspace, signal: AbortSignal): Promise<HostReply>;
  /** Removes files only: another target shares the rows. @param body parsed JSON */
  uninstallFiles(body: unknown, workspace: CallWorkspace, signal: AbortSignal): Promise<HostReply>;
}
