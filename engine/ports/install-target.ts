// One install target: its control DB, from which the site reads which datasets are installed for whom. Every write carries the
// lease token of the dataset; a token lower than the stored one is refused (`aborted`).

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetMetadata, DatasetType } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import type { InstallKind, InstallStatus } from '../model/status.ts';
import type { ObjectVersion, SyncPart } from './catalog.ts';

export interface ControlDocument extends DatasetAddress {
  readonly metadata: DatasetMetadata;
  /** Display name of the type. */
  readonly category: string;
  /** False forces `private`: the dataset is not installed here yet. */
  readonly showVisibility: boolean;
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

export interface InstallTarget {
  readonly id: TargetId;
  /**
   * Identifies the database and schema that plugins write its data to. Targets with the same value share their rows
   * (actors/dataset/shared-data.ts). Only compared, never shown.
   */
  readonly dataSchema: string;
  /**
   * Replaces all rows of the dataset except its install messages and visibilities of other users; adds the owner's visibility
   * row.
   */
  writeDataset(document: ControlDocument, token: number, signal: AbortSignal): Promise<void>;
  state(dataset: DatasetId, signal: AbortSignal): Promise<ControlState>;
  /** Needs the dataset's row (see writeDataset). Stores `version` with it when given. */
  writeMessage(
    dataset: DatasetId,
    kind: InstallKind,
    message: { readonly status: InstallStatus; readonly message?: string; readonly version?: ObjectVersion },
    token: number,
    signal: AbortSignal,
  ): Promise<void>;
  /** Records that nothing of this kind has begun here after all. Needs the dataset's row, like writeMessage. */
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
