// An install target in memory. Targets that are given one {@link FakeControlSchema} share it.

import type { DatasetId, TargetId, UserId } from '../../engine/model/ids.ts';
import type { InstallKind } from '../../engine/model/status.ts';
import {
  ABSENT,
  type ControlDocument,
  type ControlMessage,
  type ControlState,
  type InstallTarget,
} from '../../engine/ports/install-target.ts';
import { aborted, defect } from '../../engine/runtime/failure.ts';
import type { Clock } from '../../engine/runtime/time.ts';

interface FakeRow {
  readonly token: number;
  readonly visibleTo: ReadonlySet<UserId>;
  readonly targets: ReadonlyMap<TargetId, FakeInstall>;
}

interface FakeInstall {
  readonly document: ControlDocument;
  readonly state: ControlState;
}

export class FakeControlSchema {
  readonly rows = new Map<DatasetId, FakeRow>();
}

export class FakeInstallTarget implements InstallTarget {
  readonly id: TargetId;
  readonly dataSchema: string;
  readonly #schema: FakeControlSchema;
  readonly #clock: Clock;

  constructor(id: TargetId, clock: Clock, schema = new FakeControlSchema(), dataSchema: string = id) {
    this.id = id;
    this.dataSchema = dataSchema;
    this.#clock = clock;
    this.#schema = schema;
  }

  state: InstallTarget['state'] = async (dataset, signal) => {
    signal.throwIfAborted();
    const known = this.#schema.rows.get(dataset)?.targets.get(this.id);
    return known?.state ?? ABSENT;
  };

  begin: InstallTarget['begin'] = async (dataset, change, token, signal) => {
    if (this.#row(dataset, token, signal)?.targets.has(this.id)) return false;
    await this.write(dataset, change, token, signal);
    return true;
  };

  write: InstallTarget['write'] = async (dataset, change, token, signal) => {
    if (change.document) this.#writeDocument(dataset, change.document, token, signal);
    const said = Object.entries(change.messages ?? {}) as [InstallKind, ControlMessage][];
    const updated = new Date(this.#clock.now());
    this.#update(dataset, token, signal, (state) => ({
      ...state,
      messages: {
        ...state.messages,
        ...Object.fromEntries(said.map(([kind, { status, message }]) => [kind, { status, message, updated }])),
      },
      sync: {
        ...state.sync,
        ...Object.fromEntries(said.flatMap(([kind, { version }]) => (version ? [[kind, version]] : []))),
      },
    }));
  };

  #writeDocument(dataset: DatasetId, document: ControlDocument, token: number, signal: AbortSignal): void {
    const row = this.#row(dataset, token, signal);
    const known = row?.targets.get(this.id);
    const { type } = document.metadata;
    const state = { ...(known?.state ?? { deletedStatus: 0, messages: {}, sync: {} }), present: true, type };
    // The document is one for all targets of the schema; each has its own installs.
    const neighbours = [...(row?.targets ?? [])].map(([id, of]): [TargetId, FakeInstall] => [
      id,
      {
        document: { ...document, showVisibility: of.document.showVisibility },
        state: { ...of.state, type },
      },
    ]);
    this.#schema.rows.set(dataset, {
      token,
      visibleTo: new Set(row?.visibleTo).add(document.owner),
      targets: new Map(neighbours).set(this.id, { document, state }),
    });
  }

  removeMessage: InstallTarget['removeMessage'] = async (dataset, kind, token, signal) => {
    this.#update(dataset, token, signal, (state) => {
      const { [kind]: _removed, ...messages } = state.messages;
      return { ...state, messages };
    });
  };

  writeVisibility: InstallTarget['writeVisibility'] = async (dataset, recipients, version, token, signal) => {
    const row = this.#update(dataset, token, signal, (state) => ({
      ...state,
      sync: { ...state.sync, shares: version },
    }));
    const owner = row.targets.get(this.id)?.document.owner;
    this.#schema.rows.set(dataset, { ...row, visibleTo: new Set([...recipients, ...(owner ? [owner] : [])]) });
  };

  setDeleted: InstallTarget['setDeleted'] = async (dataset, deletedStatus, token, signal) => {
    this.#update(dataset, token, signal, (state) => ({ ...state, deletedStatus }));
  };

  purge: InstallTarget['purge'] = async (dataset, token, signal) => {
    const row = this.#row(dataset, token, signal);
    if (!row) return;
    const targets = new Map(row.targets);
    targets.delete(this.id);
    if (targets.size > 0) this.#schema.rows.set(dataset, { ...row, token, targets });
    else this.#schema.rows.delete(dataset);
  };

  /** What the site shows of the dataset: who sees it, once it is installed and not deleted. */
  visibleTo(dataset: DatasetId): readonly UserId[] {
    const row = this.#schema.rows.get(dataset);
    const state = row?.targets.get(this.id)?.state;
    const installed = state?.messages.meta?.status === 'complete' && state.messages.data?.status === 'complete';
    return row && installed && state.deletedStatus === 0 ? [...row.visibleTo].sort() : [];
  }

  #update(
    dataset: DatasetId,
    token: number,
    signal: AbortSignal,
    change: (state: ControlState) => ControlState,
  ): FakeRow {
    const row = this.#row(dataset, token, signal);
    const known = row?.targets.get(this.id);
    if (!row || !known) throw this.#noRow(dataset);
    const targets = new Map(row.targets).set(this.id, { ...known, state: change(known.state) });
    const updated = { ...row, token, targets };
    this.#schema.rows.set(dataset, updated);
    return updated;
  }

  #noRow(dataset: DatasetId): Error {
    return defect(`dataset ${dataset} has no row in the control schema of install target ${this.id}`);
  }

  #row(dataset: DatasetId, token: number, signal: AbortSignal): FakeRow | undefined {
    signal.throwIfAborted();
    const row = this.#schema.rows.get(dataset);
    if (row && row.token > token)
      throw aborted(`dataset ${dataset}: lease lost (a newer holder wrote to install target ${this.id})`);
    return row;
  }
}
