// What the routes need of the plugin host behind them (actors/plugin-host/plugin-host.ts).

import type {
  ImportRequest,
  InstallFilesRequest,
  InstallRequest,
  TargetRequest,
  UninstallRequest,
} from '../../engine/model/plugin-requests.ts';
import type { CallOutcome, Imported } from '../../engine/ports/plugin-client.ts';
import type { Logger } from '../../engine/runtime/log.ts';

export interface Payload {
  readonly file: string;
  /** Called when it is unpacked. */
  readonly release: () => Promise<void>;
}

/** The folders of one call. Disposing removes them. */
export interface CallWorkspace extends AsyncDisposable {
  /** Creates the folder for the data properties of the call. */
  properties(): Promise<string>;
  /** A path in the working directory of the script. */
  path(...parts: readonly string[]): string;
}

/** Calls fail as `rejected` if the request is wrong, and with `Busy` if they wait too long for their turn. */
export interface HostedCalls {
  /** Takes a place for a call before its body is read. Throws `Busy`. */
  admit(): Disposable;
  /** @param log of the request: what scripts print is logged with its ids */
  workspace(log?: Logger): Promise<CallWorkspace>;
  import(
    request: ImportRequest,
    workspace: CallWorkspace,
    files: { readonly payload: Payload; readonly dataFile: string },
    signal: AbortSignal,
  ): Promise<Imported | CallOutcome>;
  packReply(
    imported: Imported,
    workspace: CallWorkspace,
    signal: AbortSignal,
  ): Promise<{ readonly file: string; readonly bytes: number }>;
  /** Called with the details of an install-data before its data has arrived. */
  expectInstall(request: TargetRequest): Promise<void>;
  installData(
    request: InstallRequest,
    workspace: CallWorkspace,
    payload: Payload,
    signal: AbortSignal,
  ): Promise<CallOutcome>;
  /** The workspace's properties folder has the data properties. */
  installMeta(request: InstallRequest, workspace: CallWorkspace, signal: AbortSignal): Promise<CallOutcome>;
  /** Copies files from a target that shares the rows. */
  installFiles(request: InstallFilesRequest, workspace: CallWorkspace, signal: AbortSignal): Promise<CallOutcome>;
  uninstall(request: UninstallRequest, workspace: CallWorkspace, signal: AbortSignal): Promise<CallOutcome>;
  /** Removes files only, because another target shares the rows. */
  uninstallFiles(request: UninstallRequest, workspace: CallWorkspace, signal: AbortSignal): Promise<CallOutcome>;
}
