// A plugin server: validates, installs and uninstalls datasets of its types. Codes and parts are those of the wire protocol
// (docs/design/decisions.md#plugin-wire-protocol). Calls stream; the caller opens each body once per call.

import type { Readable } from 'node:stream';
import type { DatasetId, TargetId } from '../model/ids.ts';
import type { DatasetMetadata, DatasetType, Manifest } from '../model/metadata.ts';
import type { ScriptEvidence } from '../model/script-evidence.ts';
import type { Traceparent } from '../model/traceparent.ts';

export interface PluginCall {
  readonly eventId: number;
  readonly dataset: DatasetId;
  /** Passed on to the plugin server in the header of that name. */
  readonly traceparent?: Traceparent | undefined;
}

export interface StreamedFile {
  readonly name: string;
  /** Bytes; bodies are sent with a Content-Length. */
  readonly size: number;
  /** Opened lazily, at most once. */
  readonly open: (signal: AbortSignal) => Promise<Readable>;
}

/** Messages of a plugin's script, for the dataset's owner. */
export interface Validation {
  readonly basic: readonly string[];
  readonly community: readonly string[];
}

/** A plugin failed internally: 555 (script) or 500 (server). */
export interface PluginFailure extends ScriptEvidence {
  readonly kind: 'script-error' | 'server-error';
  readonly message: string;
}

export type ImportReply =
  /** The reply's zip (vdi-manifest.json, warnings.json, data.zip) was written to `replyFile`. */
  | { readonly kind: 'success'; readonly replyFile: string }
  | { readonly kind: 'invalid'; readonly validation: Validation }
  | PluginFailure;

export type InstallReply =
  | { readonly kind: 'success'; readonly validation: Validation }
  | { readonly kind: 'invalid'; readonly validation: Validation }
  | { readonly kind: 'missing-dependency'; readonly messages: readonly string[] }
  | PluginFailure;

export type UninstallReply = { readonly kind: 'success' } | PluginFailure;

/**
 * Maximum number of attempts for a call that the plugin accepted but did not carry out, by answering 500 or not answering in
 * time (docs/design/decisions.md#from-a-change-to-a-job). The dataset is as likely the cause as the plugin, and each attempt
 * occupies a worker for a long time.
 */
export const PLUGIN_FAULT_ATTEMPTS = 3;

/**
 * Refused, reset, 502, 503 and timeouts are `transient` failures (refused, and a 503 without `SCRIPT_RAN`:
 * `unreachable`; timeouts: limited to {@link PLUGIN_FAULT_ATTEMPTS}); an answer outside the protocol is a `defect`.
 */
export interface PluginClient {
  /** Streams the reply to `replyFile` (created, replaced). */
  import(
    call: PluginCall & {
      readonly metadata: DatasetMetadata;
      readonly payload: StreamedFile;
      readonly replyFile: string;
    },
    signal: AbortSignal,
  ): Promise<ImportReply>;
  installData(
    call: PluginCall & {
      readonly target: TargetId;
      readonly metadata: DatasetMetadata;
      readonly manifest: string;
      readonly payload: StreamedFile;
      readonly properties: readonly StreamedFile[];
    },
    signal: AbortSignal,
  ): Promise<InstallReply>;
  installMeta(
    call: PluginCall & {
      readonly target: TargetId;
      readonly metadata: DatasetMetadata;
      readonly properties: readonly StreamedFile[];
    },
    signal: AbortSignal,
  ): Promise<InstallReply>;
  /**
   * Copies the dataset's files to a target from another one that shares its data schema and has the dataset installed. The only
   * script that runs is the one that checks dependencies. A server that lacks this call answers `script-error`.
   */
  installFiles(
    call: PluginCall & {
      readonly target: TargetId;
      readonly source: TargetId;
      readonly metadata: DatasetMetadata;
    },
    signal: AbortSignal,
  ): Promise<InstallReply>;
  uninstall(
    call: PluginCall & { readonly target: TargetId; readonly type: DatasetType },
    signal: AbortSignal,
  ): Promise<UninstallReply>;
  /**
   * Removes the dataset's files and keeps its rows. No script runs. Like {@link installFiles} when the server lacks this call.
   */
  uninstallFiles(
    call: PluginCall & { readonly target: TargetId; readonly type: DatasetType },
    signal: AbortSignal,
  ): Promise<UninstallReply>;
  /** Resolves when the plugin server answers. */
  probe(signal: AbortSignal): Promise<void>;
}

// Codes and replies of the plugin wire protocol (docs/design/decisions.md#plugin-wire-protocol).

/** Codes of the protocol. */
export const PLUGIN_STATUS = {
  ok: 200,
  invalid: 418,
  missingDependency: 420,
  scriptError: 555,
  serverError: 500,
} as const;

/**
 * Exit code of a script, EX_TEMPFAIL of sysexits.h: a disk is full, or something else is wrong for which neither the data nor the
 * script is to blame.
 */
export const LATER = 75;

/** How a call ended that a plugin host of ours served. */
export type CallOutcome =
  /** Success of a call that has no messages. */
  | { readonly kind: 'done' }
  | { readonly kind: 'valid' | 'invalid'; readonly messages: Validation }
  | { readonly kind: 'missing-dependency'; readonly lines: readonly string[] }
  /** The script failed, or broke the rules. */
  | ScriptFailed
  /** The script was not run to its end. */
  | { readonly kind: 'server-error'; readonly message: string; readonly output?: string }
  /** A script ran and achieved nothing. The caller should call again. */
  | { readonly kind: 'later'; readonly message: string; readonly output?: string };

/** `output` is absent when the script printed nothing. */
export interface ScriptFailed {
  readonly kind: 'script-error';
  readonly script: string;
  readonly exitCode: number;
  readonly message: string;
  readonly output?: string;
}

/** Messages as the protocol writes them. */
export const validationDocument = (isValid: boolean, messages: Validation): object => ({
  isValid,
  basicValidation: messages.basic,
  communityValidation: messages.community,
});

/** What an import produced. */
export interface Imported {
  readonly kind: 'imported';
  readonly manifest: Manifest;
  readonly messages: Validation;
  /** The install-ready archive. */
  readonly data: { readonly file: string; readonly bytes: number; readonly sha256?: string };
}

/** Highest id of an import job; the lowest is 0. */
export const MAX_JOB_ID = 65_535;

/** It only distinguishes imports within one second (VDI_IMPORT_ID), so the low bits of an increasing number suffice. */
export const jobIdOf = (eventId: number): number => eventId % (MAX_JOB_ID + 1);

/**
 * Response header of a 503: a script ran before the call failed for lack of a resource, so part of its work may be in the
 * target. A 503 without it comes from a host, or a proxy, that started nothing.
 */
export const SCRIPT_RAN = 'x-script-ran';

/**
 * Request header of our own clients: if a script fails, the answer has the end of what it printed, in the field `output`. Other
 * servers ignore it. Other clients do not send it, and get only the fields that they know.
 */
export const WANTS_OUTPUT = 'x-script-output';
