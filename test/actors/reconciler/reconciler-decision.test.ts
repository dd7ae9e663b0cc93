import t from 'tap';
import type { MergedDataset } from '../../../actors/reconciler/merge-in-store-order.ts';
import { decide, type Verdict } from '../../../actors/reconciler/reconciler-decision.ts';
import type { DatasetObject } from '../../../engine/model/object-key.ts';
import { DATASET_STATES } from '../../../engine/model/status.ts';
import type { ControlState } from '../../../engine/ports/install-target.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { TYPES } from '../../support/lane-settings.ts';
import {
  addressOf,
  controlOf,
  INSTALLED_OBJECTS,
  indexedOf,
  infoOf,
  STORED_AT,
  storedOf,
} from '../../support/merged-datasets.ts';

const AT = addressOf(1, 'a');
const DAY = 24 * 60 * 60_000;
/** A year after everything was stored. */
const NOW = STORED_AT.getTime() + 365 * DAY;
const STALE = { modified: new Date(0), etag: 'old' };

interface Case {
  readonly objects?: readonly DatasetObject[];
  readonly stored?: Parameters<typeof storedOf>[2] | 'absent';
  readonly indexed?: Parameters<typeof indexedOf>[1] | 'unknown';
  /** What PlasmoSite says; `away` when it is left out. */
  readonly control?: Partial<ControlState> | 'none' | 'away';
  readonly full?: boolean;
  readonly now?: number;
}

function verdict({
  objects = INSTALLED_OBJECTS,
  stored = {},
  indexed = {},
  control = {},
  full = true,
  now = NOW,
}: Case) {
  const held = stored === 'absent' ? undefined : storedOf(AT, objects, stored);
  const files = { properties: held?.properties ?? [], shares: held?.shares ?? [] };
  const merged: MergedDataset = {
    ...AT,
    stored: held,
    indexed: indexed === 'unknown' ? undefined : indexedOf(AT, indexed),
    installed:
      control === 'away' || !full
        ? new Map()
        : new Map([[PLASMO, control === 'none' ? undefined : controlOf(AT, control, files)]]),
  };
  return decide(merged, { now, types: TYPES, full });
}

/** The reason, or the kind of the verdict. */
const told = (one: Case): string => {
  const found: Verdict = verdict(one);
  return found.kind === 'reconcile' ? found.reason : found.kind;
};

const message = (
  status: 'complete' | 'missing-dependency' | 'running' | 'ready-for-reinstall',
  updated = STORED_AT,
) => ({
  status,
  message: undefined,
  updated,
});
const flags = (...more: DatasetObject[]): DatasetObject[] => [...INSTALLED_OBJECTS, ...more];

t.test('what is in step needs nothing', async (t) => {
  const properties = [infoOf(AT, 'datasetProperties/p.tsv')];
  const shares = [infoOf(AT, 'shares/7/share-offer.json')];
  t.equal(told({}), 'in-sync');
  t.equal(told({ full: false }), 'in-sync');
  t.equal(told({ control: 'away' }), 'in-sync', 'a target that is away is not compared');
  t.equal(told({ stored: { properties } }), 'in-sync');
  const sync = { ...indexedOf(AT).sync, shares: controlOf(AT, {}, { properties: [], shares }).sync.shares ?? STALE };
  t.equal(told({ stored: { shares }, indexed: { sync } }), 'in-sync');
});

t.test('what no database may delete by itself is absent only when no object is there', async (t) => {
  t.equal(told({ stored: 'absent' }), 'absent');
  t.equal(told({ stored: 'absent', indexed: 'unknown' }), 'absent', 'known to a target alone');
  t.equal(told({ stored: 'absent', indexed: { state: 'pruning' } }), 'in-sync', 'its removal is under way');
  t.equal(told({ stored: 'absent', indexed: { state: 'receiving' } }), 'in-sync', 'its objects are still to come');
});

t.test('a dataset without metadata is malformed, or arriving while its objects are young', async (t) => {
  for (const indexed of ['unknown', {}] as const) {
    t.equal(told({ objects: [], stored: { raw: [infoOf(AT, 'raw/x')] }, indexed }), 'malformed');
    t.equal(told({ objects: [], stored: { unknown: 1 }, indexed }), 'malformed');
    t.equal(told({ objects: ['delete-flag'], indexed, now: STORED_AT.getTime() + 59 * 60_000 }), 'arriving');
    t.equal(told({ objects: ['delete-flag'], indexed, now: STORED_AT.getTime() + 61 * 60_000 }), 'malformed');
  }
});

t.test('a dataset that the cache does not know is reconciled, its metadata are new to us', async (t) => {
  const reconcile = { kind: 'reconcile', reason: 'not in the cache', newMetadata: true };
  t.strictSame(verdict({ indexed: 'unknown' }), reconcile);
  t.strictSame(verdict({ indexed: 'unknown', objects: flags('delete-flag'), full: false }), reconcile);
});

t.test('the cache says what the flags say, or is reconciled', async (t) => {
  const reasons = (objects: DatasetObject[]): object =>
    Object.fromEntries(DATASET_STATES.map((state) => [state, told({ objects, indexed: { state }, full: false })]));
  const same = { pruning: 'in-sync', receiving: 'in-sync' };
  t.strictSame(reasons(flags()), {
    ...same,
    live: 'in-sync',
    superseded: 'it is no longer superseded',
    deleting: 'it was undeleted',
    deleted: 'it was undeleted',
  });
  t.strictSame(reasons(flags('revised-flag')), {
    ...same,
    live: 'it was superseded',
    superseded: 'in-sync',
    deleting: 'it was undeleted',
    deleted: 'it was undeleted',
  });
  for (const both of [flags('delete-flag'), flags('delete-flag', 'revised-flag')])
    t.strictSame(reasons(both), {
      ...same,
      live: 'it was deleted',
      superseded: 'it was deleted',
      deleting: 'in-sync',
      deleted: 'in-sync',
    });
});

t.test('a flagged dataset is reconciled until it is uninstalled everywhere', async (t) => {
  const deleted = { objects: flags('delete-flag'), indexed: { state: 'deleted' } } as const;
  t.equal(told({ ...deleted, control: {} }), 'not uninstalled from PlasmoSite');
  t.equal(told({ ...deleted, control: { deletedStatus: 2 } }), 'not uninstalled from PlasmoSite');
  t.equal(told({ ...deleted, control: { deletedStatus: 1 } }), 'in-sync');
  t.equal(told({ ...deleted, control: 'none' }), 'in-sync');
  t.equal(told({ ...deleted, control: 'away' }), 'in-sync');
  const superseded = { objects: flags('revised-flag'), indexed: { state: 'superseded' } } as const;
  t.equal(told({ ...superseded, control: {} }), 'not uninstalled from PlasmoSite');
  t.equal(told({ ...superseded, control: { deletedStatus: 1 } }), 'in-sync');
  const shares = [infoOf(AT, 'shares/7/share-offer.json')];
  t.equal(told({ ...superseded, stored: { shares }, full: false }), 'its shares have changed');
  t.equal(told({ ...deleted, stored: { shares }, full: false }), 'in-sync', 'nobody sees it');
});

t.test('a deletion that has not ended, as when a target is disabled, is gone on with by full runs', async (t) => {
  const deleting = { objects: flags('delete-flag'), indexed: { state: 'deleting', installTargets: [TOXO] } } as const;
  t.equal(told({ ...deleting, control: 'none' }), 'its deletion is not finished');
  t.equal(told({ ...deleting, full: false }), 'in-sync');
});

t.test('metadata, shares and data of the cache have to be those of the store', async (t) => {
  const { sync } = indexedOf(AT);
  const full = false;
  t.strictSame(verdict({ full, indexed: { sync: { ...sync, meta: STALE } } }), {
    kind: 'reconcile',
    reason: 'its metadata have changed',
    newMetadata: true,
  });
  t.equal(told({ full, indexed: { sync: { ...sync, data: STALE } } }), 'its data have changed');
  t.equal(told({ full, indexed: { sync: { ...sync, shares: STALE } } }), 'its shares have changed');
  t.equal(told({ full, stored: { shares: [infoOf(AT, 'shares/7/share-offer.json')] } }), 'its shares have changed');
});

t.test('an import that is due, or whose end was not written down, is reconciled', async (t) => {
  const full = false;
  const without = (...absent: DatasetObject[]) => INSTALLED_OBJECTS.filter((object) => !absent.includes(object));
  t.equal(told({ full, objects: without('vdi-manifest.json') }), 'its import result is incomplete');
  t.equal(told({ full, objects: without('install-ready.zip') }), 'its import result is incomplete');
  t.equal(told({ full, indexed: { import: 'queued' } }), 'its import is not finished');
  t.equal(told({ full, indexed: { import: 'in-progress' } }), 'its import is not finished');
  t.equal(told({ full, objects: without('install-ready.zip'), indexed: { import: 'failed' } }), 'in-sync');
  t.equal(told({ full, objects: without('install-ready.zip'), indexed: { import: 'invalid' } }), 'in-sync');
  const unpacked = without('import-ready.zip');
  t.equal(told({ full, objects: unpacked, indexed: { import: 'queued' } }), 'its import is not finished');
  t.equal(told({ full, objects: unpacked }), 'in-sync');
  const sync = { meta: indexedOf(AT).sync.meta ?? STALE, data: STALE };
  t.equal(told({ full, objects: unpacked, indexed: { sync } }), 'its data have changed');
  t.equal(told({ full, objects: ['vdi-meta.json'] }), 'in-sync', 'nothing is left to import it from');
});

t.test('an upload whose end was not written down is reconciled', async (t) => {
  const full = false;
  const raw = [infoOf(AT, 'raw/genes.txt')];
  const meta = ['vdi-meta.json'] as const;
  const running = { objects: meta, stored: { raw }, indexed: { upload: 'running' } } as const;
  t.equal(told({ ...running, full }), 'in-sync', 'under way');
  t.equal(told(running), 'its upload is not finished');
  t.equal(told({ full, indexed: { upload: 'running' } }), 'its upload is finished');
  t.equal(told({ full, indexed: { upload: 'failed' } }), 'its upload is finished');
  const refused = [...meta, 'upload-error.json'] as const;
  t.equal(told({ full, objects: refused, indexed: { upload: 'running' } }), 'its upload was rejected');
  t.equal(told({ full, objects: refused, indexed: { upload: 'failed' } }), 'in-sync');
  t.equal(told({ full, objects: refused, indexed: { upload: 'rejected' } }), 'in-sync');
  t.equal(told({ full, stored: { raw } }), 'its raw upload is left over');
  t.equal(told({ full, objects: flags('upload-error.json') }), 'its upload error is left over');
});

t.test('a target that lacks something of an imported dataset is reconciled', async (t) => {
  const { sync } = controlOf(AT);
  t.equal(told({ control: 'none' }), 'not installed on PlasmoSite');
  t.equal(told({ control: { deletedStatus: 1 } }), 'still deleted on PlasmoSite');
  t.equal(told({ control: { deletedStatus: 2 } }), 'still deleted on PlasmoSite');
  t.equal(told({ control: { messages: {} } }), 'its data are due on PlasmoSite');
  t.equal(told({ control: { sync: { ...sync, data: STALE } } }), 'its data are due on PlasmoSite');
  for (const status of ['running', 'ready-for-reinstall'] as const)
    t.equal(told({ control: { messages: { data: message(status) } } }), 'its data are due on PlasmoSite');
  t.equal(told({ control: { messages: { data: message('complete') } } }), 'its metadata are due on PlasmoSite');
  t.equal(told({ control: { sync: { ...sync, meta: STALE } } }), 'its metadata are due on PlasmoSite');
  t.equal(told({ control: { sync: { ...sync, shares: STALE } } }), 'its shares are due on PlasmoSite');
});

t.test('installed metadata are compared with metadata and properties together', async (t) => {
  const properties = [infoOf(AT, 'datasetProperties/p.tsv')];
  const { sync } = controlOf(AT);
  t.equal(told({ stored: { properties }, control: { sync } }), 'its metadata are due on PlasmoSite');
});

t.test('targets are left alone until the import is complete, and where the dataset is not wanted', async (t) => {
  t.equal(told({ control: 'none', indexed: { installTargets: [TOXO] } }), 'in-sync');
  t.equal(told({ control: 'none', indexed: { import: 'failed' } }), 'in-sync');
  const type = { name: 'gone', version: '1' };
  t.equal(told({ control: 'none', indexed: { type } }), 'in-sync', 'no plugin');
  const { sync } = controlOf(AT);
  t.equal(
    told({ control: { sync: { ...sync, shares: STALE } }, indexed: { type } }),
    'its shares are due on PlasmoSite',
  );
});

t.test('a dependency that was missing is looked for again after a day', async (t) => {
  const updated = new Date(NOW - DAY);
  const missing = (at: Date): Case => ({ control: { messages: { data: message('missing-dependency', at) } } });
  t.equal(told(missing(updated)), 'a dependency was missing on PlasmoSite');
  t.equal(told(missing(new Date(updated.getTime() + 1))), 'in-sync');
});
