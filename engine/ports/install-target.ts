// One install target: its control DB, from which the site reads which datasets are installed for whom. Every write carries the
// lease token of the dataset; a token lower than the stored one is refused (`aborted`). A write happens as a whole or not at
// all.

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetMetadata, DatasetType } from '../model/metadata.ts';
import type { InstallKind, InstallStatus } from '../model/status.ts';
import type { ObjectVersion, SyncPart } from './catalog.ts';

export interface ControlDocument {
  readonly owner: UserId;
  readonly metadata: DatasetMetadata;
  /** Display name of the type. */
  readonly category: string;
  /** False forces `private`: the dataset is not installed here yet. */
  readonly showVisibility: boolean;
  /** The target already has the rows of this very document, from a write under the same token. They need not be replaced. */
  readonly written?: boolean;
}

/** The status of one kind of install. */
export interface ControlMessage {
  readonly status: InstallStatus;
  readonly message?: string;
  /** Stored with it; without one, the stored version stays. */
  readonly version?: ObjectVersion;
}

/** What one step of an install writes at once. What is absent stays as it is. */
export interface ControlWrite {
  /**
   * Replaces all rows of the dataset except its install messages and visibilities of other users; adds the owner's visibility
   * row. Everything else needs these rows.
   */
  readonly document?: ControlDocument;
  readonly messages?: Readonly<Partial<Record<InstallKind, ControlMessage>>>;
}

export interface InstallMessage {
  readonly status: InstallStatus;
  readonly message: string | undefined;
  readonly updated: Date;
}

export interface ControlState {
  /** The dataset has a row here. */
  readonly present: boolean;
  /** Of what is installed here; undefined when there is no row. */
  readonly type: DatasetType | undefined;
  /** 0 live, 2 deleted but not uninstalled, 1 deleted and uninstalled. */
  readonly deletedStatus: 0 | 1 | 2;
  readonly messages: Readonly<Partial<Record<InstallKind, InstallMessage>>>;
  readonly sync: Readonly<Partial<Record<SyncPart, ObjectVersion>>>;
}

/** What a comparison needs of a state: no texts, and no time but where its age counts. */
export interface InstalledState extends Pick<ControlState, 'present' | 'deletedStatus' | 'sync'> {
  readonly messages: Readonly<Partial<Record<InstallKind, InstalledMessage>>>;
}

export type InstalledMessage =
  | { readonly status: 'missing-dependency'; readonly updated: Date }
  | { readonly status: Exclude<InstallStatus, 'missing-dependency'> };

/** Of a target that has no row of the dataset. */
export const ABSENT: ControlState = { present: false, type: undefined, deletedStatus: 0, messages: {}, sync: {} };

export interface InstallTarget {
  readonly id: TargetId;
  /**
   * Identifies the database and schema that plugins write its data to. Targets with the same value share their rows
   * (actors/dataset/shared-data.ts). Only compared, never shown.
   */
  readonly dataSchema: string;
  state(dataset: DatasetId, signal: AbortSignal): Promise<ControlState>;
  /**
   * Writes the first rows of a dataset here, if there are none. Returns false, with nothing written, when there are some.
   */
  begin(
    dataset: DatasetId,
    change: ControlWrite & Required<Pick<ControlWrite, 'document'>>,
    token: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  write(dataset: DatasetId, change: ControlWrite, token: number, signal: AbortSignal): Promise<void>;
  /** Records that nothing of this kind has begun here after all. Needs the dataset's rows. */
  removeMessage(dataset: DatasetId, kind: InstallKind, token: number, signal: AbortSignal): Promise<void>;
  /** Replaces the list of users, besides the owner, who may see the dataset. */
  writeVisibility(
    dataset: DatasetId,
    recipients: readonly UserId[],
    version: ObjectVersion,
    token: number,
    signal: AbortSignal,
  ): Promise<void>;
  setDeleted(dataset: DatasetId, deletedStatus: 0 | 1 | 2, token: number, signal: AbortSignal): Promise<void>;
  /** Removes every row of the dataset. */
  purge(dataset: DatasetId, token: number, signal: AbortSignal): Promise<void>;
}
