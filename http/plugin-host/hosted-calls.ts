// What the routes need of the plugin host that runs behind them (actors/plugin-host/plugin-host.ts).

import type { HostReply } from '../../engine/model/plugin-protocol.ts';
import type { Logger } from '../../engine/runtime/log.ts';

/** The folders of one call. Disposing removes them. */
export interface CallWorkspace extends AsyncDisposable {
  /** Where the data properties of the call are written. */
  readonly propertiesDir: string;
  /** A path in the working directory of the script. */
  path(...parts: readonly string[]): string;
}

/** Calls fail as `rejected` if the request is wrong, and with `Busy` if they wait too long for their turn. */
export interface HostedCalls {
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
