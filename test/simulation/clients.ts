// The people: they upload and edit through whatever process runs, and remember what was promised to them. A client whose
// process ends under a call hears nothing and goes on with what it wanted to do next.

import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { versionOf } from '../../actors/dataset/dataset-versions.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import { serialiseShare, serializeMetadata } from '../../engine/model/metadata.ts';
import { fileKey, objectKey, shareKey } from '../../engine/model/object-key.ts';
import { isDeleted } from '../../engine/model/status.ts';
import type { DatasetEdit, EditableDataset } from '../../engine/ports/dataset-edits.ts';
import { settledUnless } from '../../engine/runtime/wait.ts';
import type { SmallUploads } from '../../http/installer/uploads/small-files.ts';
import { UploadSession } from '../../http/installer/uploads/upload-session.ts';
import type { DatasetPlan, Edit } from './plan.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

const LIMITS = {
  maxUploadBytes: 1_000_000,
  quotaBytes: 1_000_000_000,
  waitingPerUser: 1_000,
  announcedBytes: undefined,
};
/** As the tasks of the simulation pack. */
const SMALL: SmallUploads = {
  bytes: Number.MAX_SAFE_INTEGER,
  zip: async (files) => {
    const zip = Buffer.from(JSON.stringify(Object.fromEntries(files.map(({ name, bytes }) => [name, `${bytes}`]))));
    const digests = { archive: hash('sha256', zip), files: files.map(({ bytes }) => hash('sha256', bytes)) };
    return { zip, bytes: zip.length, entries: files.length, digests };
  },
};
/** Until they try again when nothing runs, or the dataset is not there yet; and how often they do. */
const PATIENCE_MS = 5_000;
const TRIES = 60;
const never = new AbortController().signal;

interface GivenName {
  readonly name: string;
  /** The client was told that it was written. */
  promised: boolean;
}

interface Wish {
  readonly deleted: boolean;
  promised: boolean;
}

export class Clients {
  /** Datasets whose upload was answered with 202. */
  readonly accepted = new Set<string>();
  readonly #world: World;
  readonly #begunMs: number;
  /** Datasets that their owners are not done with. */
  #busy = 0;
  readonly #names = new Map<string, GivenName[]>();
  readonly #wishes = new Map<string, Wish[]>();

  constructor(world: World) {
    this.#world = world;
    this.#begunMs = world.clock.now();
  }

  begin(plans: readonly DatasetPlan[]): void {
    for (const plan of plans) {
      this.#world.plugin.settle(plan.dataset, plan.verdicts);
      this.#wishes.set(plan.dataset, [{ deleted: false, promised: true }]);
      this.#names.set(plan.dataset, [{ name: plan.metadata.name, promised: true }]);
      void this.#live(plan);
    }
  }

  /** Names that the dataset may have in the end: the last promised one and those that were given after it. */
  possibleNames({ dataset }: DatasetPlan): readonly string[] {
    const names = this.#names.get(dataset) ?? [];
    return names.slice(names.findLastIndex(({ promised }) => promised)).map(({ name }) => name);
  }

  get idle(): boolean {
    return this.#busy === 0;
  }

  /** Whether the dataset may be deleted in the end, and whether it may not. */
  possiblyDeleted({ dataset }: DatasetPlan): readonly boolean[] {
    const wishes = this.#wishes.get(dataset) ?? [];
    return wishes.slice(wishes.findLastIndex(({ promised }) => promised)).map(({ deleted }) => deleted);
  }

  async #live(plan: DatasetPlan): Promise<void> {
    this.#busy++;
    const mayUpload = (): boolean => plan.revises === undefined || this.#isImported(plan.revises);
    await this.#do(plan.atMs, 'upload', plan, mayUpload, (process) => this.#upload(process, plan));
    const isThere = (): boolean => this.#world.catalog.datasets.has(plan.dataset);
    for (const edit of plan.edits)
      await this.#do(edit.atMs, `edit (${edit.kind})`, plan, isThere, (process) => this.#edit(process, plan, edit));
    this.#busy--;
  }

  /** Only then the front end lets it be revised. */
  #isImported(dataset: DatasetId): boolean {
    const known = this.#world.catalog.datasets.get(dataset);
    return known?.state === 'live' && known.import.status === 'complete';
  }

  async #do(
    atMs: number,
    what: string,
    plan: DatasetPlan,
    possible: () => boolean,
    act: (process: SimProcess) => Promise<void>,
  ): Promise<void> {
    const { clock, scheduler, trace } = this.#world;
    await clock.sleep(this.#begunMs + atMs - clock.now());
    for (let attempts = 0; attempts < TRIES; attempts++) {
      const open = this.#world.alive.filter((process) => !process.stopping);
      if (open.length === 0 || !possible()) {
        await clock.sleep(PATIENCE_MS);
        continue;
      }
      const process = scheduler.random.pick(open);
      trace.note(`client: ${what} ${plan.dataset} through p${process.id}`);
      await settledUnless(act(process), process.ended);
      return;
    }
  }

  async #upload(process: SimProcess, plan: DatasetPlan): Promise<void> {
    const { log, trace } = this.#world;
    const { ports, clock } = process;
    const { store, uploads, events: eventLog } = ports;
    const { owner, dataset, metadata, files, properties } = plan;
    const limits = { ...LIMITS, ...(plan.isPacked ? { small: SMALL } : {}) };
    const session = new UploadSession({ owner, dataset }, { store, uploads, eventLog, clock, log }, limits);
    const storeAll = async (folder: 'raw' | 'datasetProperties', all: Readonly<Record<string, string>>) => {
      const stored = [];
      for (const [name, text] of Object.entries(all))
        stored.push(await session.store(folder, name, Readable.from([Buffer.from(text)]), never));
      return stored;
    };
    try {
      const source = { kind: 'files', files: await storeAll('raw', files) } as const;
      const propertyFiles = await storeAll('datasetProperties', properties);
      await session.accept({ metadata, source, documents: [], properties: propertyFiles }, never);
    } catch {
      trace.note(`client: ${dataset} is not accepted`);
      await session.abandon();
      return;
    }
    this.accepted.add(dataset);
    trace.note(`client: ${dataset} is accepted`);
  }

  async #edit(process: SimProcess, plan: DatasetPlan, edit: Edit): Promise<void> {
    const { store } = process.ports;
    switch (edit.kind) {
      case 'property': {
        const key = fileKey(plan, 'datasetProperties', edit.name);
        const known = this.#world.catalog.datasets.get(plan.dataset);
        if (!known || isDeleted(known.state)) return;
        if (edit.content === undefined) return store.remove([key], never);
        await store.put(key, Buffer.from(edit.content), {}, never);
        // As the front end does it: what came too late goes again.
        await process.ports.edits.edit(
          plan.dataset,
          async (now, signal) => {
            if (!now || now.state === 'pruning') await store.remove([key], signal);
            return { changes: [], result: undefined };
          },
          never,
        );
        return;
      }
      case 'offer':
      case 'receipt':
        return this.#share(process, plan, edit);
      case 'patch':
        return this.#patch(process, plan, edit.name);
      case 'delete':
      case 'undelete':
        return this.#setDeleted(process, plan, edit.kind === 'delete');
      default:
        return edit satisfies never;
    }
  }

  async #share(
    process: SimProcess,
    plan: DatasetPlan,
    edit: Extract<Edit, { kind: 'offer' | 'receipt' }>,
  ): Promise<void> {
    const { recipient, kind, action } = edit;
    await this.#change(process, plan, async (now, signal) => {
      if (isDeleted(now.state)) return undefined;
      const key = shareKey(plan, recipient, `share-${kind}.json`);
      await process.ports.store.put(key, Buffer.from(serialiseShare(action)), {}, signal);
      const others = now.shares.filter((share) => share.recipient !== recipient);
      const before = now.shares.find((share) => share.recipient === recipient) ?? { recipient };
      return [{ set: 'shares', shares: [...others, { ...before, [kind]: action }] }];
    });
  }

  async #patch(process: SimProcess, plan: DatasetPlan, name: string): Promise<void> {
    const given = { name, promised: false };
    const promised = await this.#change(process, plan, async (now, signal) => {
      if (isDeleted(now.state)) return undefined;
      this.#names.get(plan.dataset)?.push(given);
      const metadata = { ...plan.metadata, name };
      const document = Buffer.from(serializeMetadata(metadata));
      const info = await process.ports.store.put(objectKey(plan, 'vdi-meta.json'), document, {}, signal);
      return [
        { set: 'metadata', metadata },
        { set: 'sync', part: 'meta', version: versionOf(info) },
      ];
    });
    given.promised = promised;
  }

  /** As the front end does it: the flag in the store and the state in the cache under one lock. */
  async #setDeleted({ ports }: SimProcess, plan: DatasetPlan, deleted: boolean): Promise<void> {
    const wish = { deleted, promised: false };
    const key = objectKey(plan, 'delete-flag');
    const promised = await this.#change({ ports }, plan, async (now, signal) => {
      if (isDeleted(now.state) === deleted || now.state === 'pruning') return undefined;
      this.#wishes.get(plan.dataset)?.push(wish);
      if (!deleted) {
        await ports.store.remove([key], signal);
        return [{ set: 'state', state: 'live' }];
      }
      for (const dataset of [now.dataset, ...now.older])
        await ports.store.put(objectKey({ ...plan, dataset }, 'delete-flag'), new Uint8Array(), {}, signal);
      return [{ set: 'state', state: 'deleting' }, { set: 'olderDeleted' }];
    });
    wish.promised = promised;
  }

  /** True when it was carried out and confirmed; nothing changes when `decide` says undefined. */
  async #change(
    { ports }: Pick<SimProcess, 'ports'>,
    { dataset }: DatasetPlan,
    decide: (now: EditableDataset, signal: AbortSignal) => Promise<readonly DatasetEdit[] | undefined>,
  ): Promise<boolean> {
    const act = async (now: EditableDataset | undefined, signal: AbortSignal) => {
      const changes = now && (await decide(now, signal));
      return { changes: changes ?? [], result: changes !== undefined };
    };
    return ports.edits.edit(dataset, act, never);
  }
}
