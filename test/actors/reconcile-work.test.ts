// What reconciliation decides about a live dataset, from snapshots alone: upload, import, and what its copies lack.

import t from 'tap';
import { combinedVersion, sharesVersion } from '../../actors/dataset/dataset-versions.ts';
import type { Snapshot } from '../../actors/reconciliation/reconcile-snapshot.ts';
import { datasetPrefix, objectKey } from '../../engine/model/object-key.ts';
import type { InstallStatus } from '../../engine/model/status.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import { PLASMO, TOXO } from '../support/dataset-samples.ts';
import {
  ABSENT,
  at,
  BARE,
  both,
  control,
  DATA,
  DAY,
  decide,
  decides,
  enqueue,
  FULL,
  imported,
  info,
  MANIFEST,
  META,
  NOW,
  OFFER,
  RECORD,
  STALE,
  stored,
  target,
  UPLOADED,
  write,
} from '../support/reconcile-snapshots.ts';

t.test('upload', async (t) => {
  const running = {
    ...RECORD,
    upload: { status: 'running', message: 'attempt 2 of 12: x' },
    import: undefined,
  } as const;
  const unpacked = stored(['vdi-meta.json'], { raw: [info('raw/genes.txt')] });
  const more = { record: { ...running, installs: [], sync: { meta: META } }, manifest: undefined, targets: BARE };

  decides(t, 'an accepted upload that is not packed is packed', { ...more, stored: unpacked, uploadOpen: true }, [
    enqueue('upload'),
  ]);

  t.test('an upload that was given up waits for a person', async (t) => {
    const record = { ...more.record, upload: { status: 'failed', message: 'disk' } } as const;
    t.strictSame(decide({ ...more, record, stored: unpacked, uploadOpen: true }), []);
  });

  t.test('an upload of which nothing is left has failed; upload-error.json tells why', async (t) => {
    const uploadError = { status: 'rejected', message: 'no genes' } as const;
    t.strictSame(decide({ ...more, stored: stored(['vdi-meta.json', 'upload-error.json']), uploadError }), [
      write({ set: 'upload', ...uploadError }),
    ]);
    t.match(decide({ ...more, stored: stored(['vdi-meta.json']) }), [
      { do: 'write', changes: [{ set: 'upload', status: 'failed', message: /upload them again/ }] },
    ]);
  });

  t.test('import-ready.zip: the upload has succeeded, whatever was said before', async (t) => {
    const objects = stored([...UPLOADED, 'upload-error.json']);
    const record = { ...more.record, upload: { status: 'failed', message: 'disk' } } as const;
    t.strictSame(decide({ record, targets: BARE, stored: objects }), [
      write(
        { set: 'upload', status: 'success' },
        { set: 'uploadFiles', files: MANIFEST.rawUploads },
        { set: 'import', status: 'queued', messages: [] },
      ),
      { do: 'remove', keys: [objectKey(at, 'upload-error.json')] },
      enqueue('import'),
    ]);
  });

  t.test('raw files are removed once they are packed; by the upload lane if it still counts them', async (t) => {
    const objects = stored(FULL, { raw: [info('raw/a.txt'), info('raw/b.txt')] });
    t.strictSame(decide({ stored: objects }), [
      { do: 'remove', keys: [`${datasetPrefix(at)}raw/a.txt`, `${datasetPrefix(at)}raw/b.txt`] },
    ]);
    t.strictSame(decide({ stored: objects, uploadOpen: true }), [enqueue('upload')]);
  });
});

t.test('import', async (t) => {
  const more = { stored: stored(UPLOADED), targets: BARE };

  decides(t, 'failed without messages: imported again', { ...more, record: imported('failed') }, [
    write({ set: 'import', status: 'queued', messages: [] }),
    enqueue('import'),
  ]);

  decides(t, 'failed with messages: nothing', { ...more, record: imported('failed', 'plugin is broken') }, []);

  decides(t, 'invalid: nothing', { ...more, record: imported('invalid', 'no gene') }, []);

  t.test('queued, or cut off, and nothing there: imported', async (t) => {
    t.strictSame(decide({ ...more, record: imported('queued', 'attempt 2 of 12: x') }), [enqueue('import')]);
    t.strictSame(decide({ ...more, record: imported('in-progress') }), [
      write({ set: 'import', status: 'queued', messages: [] }),
      enqueue('import'),
    ]);
  });

  t.test('install-ready without manifest: imported again', async (t) => {
    const objects = stored(FULL.filter((object) => object !== 'vdi-manifest.json'));
    t.strictSame(decide({ stored: objects, manifest: undefined }), [
      write({ set: 'import', status: 'queued', messages: [] }),
      enqueue('import'),
    ]);
  });

  decides(t, 'complete, and its install-ready.zip is gone: imported again', { stored: stored(UPLOADED) }, [
    write({ set: 'import', status: 'queued', messages: [] }),
    enqueue('import'),
  ]);

  t.test(
    'both there, but cut off before anybody said so: imported again, for what the plugin says is lost',
    async (t) => {
      for (const status of ['queued', 'in-progress'] as const) {
        const record = { ...imported(status), installs: RECORD.installs, sync: { meta: META } };
        t.strictSame(decide({ record }), [enqueue('import')]);
        t.strictSame(
          decide({ record, type: undefined }),
          [
            write(
              { set: 'import', status: 'complete', messages: [] },
              { set: 'sync', part: 'data', version: DATA },
              { set: 'installFiles', files: MANIFEST.installReady },
            ),
          ],
          'without a plugin that could say anything it is complete',
        );
      }
    },
  );

  t.test('no import-ready but install-ready and manifest: complete', async (t) => {
    const objects = stored(FULL.filter((object) => object !== 'import-ready.zip'));
    t.match(decide({ stored: objects, record: { ...imported('queued'), installs: RECORD.installs } }), [
      { do: 'write', changes: [{ set: 'import', status: 'complete' }] },
    ]);
    t.strictSame(decide({ stored: objects }), []);
    t.match(decide({ stored: objects, record: undefined }), [
      { do: 'register', changes: [{ set: 'state' }, { set: 'upload', status: 'success' }, { status: 'complete' }] },
    ]);
  });

  t.test('neither import-ready nor an import: failed, and says so', async (t) => {
    const objects = stored(['vdi-meta.json', 'install-ready.zip']);
    t.match(decide({ stored: objects, manifest: undefined, record: imported('queued'), targets: BARE }), [
      { do: 'write', changes: [{ set: 'import', status: 'failed', messages: [/import-ready.zip/] }] },
    ]);
  });

  decides(t, 'a manifest that cannot be read is no reason to import again', { manifest: 'malformed' }, []);
});

t.test('sync of the cache', async (t) => {
  const out = (sync: DatasetRecord['sync']) => ({ record: { ...RECORD, sync: { ...RECORD.sync, ...sync } } });

  t.test('meta older: update-meta', async (t) => {
    t.strictSame(decide(out({ meta: STALE })), [enqueue('updateMeta')]);
    t.strictSame(decide({ ...out({ meta: STALE }), record: { ...imported('failed', 'x'), sync: {} } }), [
      enqueue('updateMeta'),
    ]);
  });

  t.test('shares older: sharing', async (t) => {
    const version = sharesVersion([OFFER]);
    const objects = stored(FULL, { shares: [OFFER] });
    const targets = both(control({ sync: { meta: META, data: DATA, shares: version } }));
    t.strictSame(decide({ stored: objects, targets }), [enqueue('sharing')]);
    t.strictSame(decide({ stored: objects, targets, ...out({ shares: version }) }), []);
    t.strictSame(decide(out({ shares: version })), [enqueue('sharing')], 'all are gone');
  });

  decides(
    t,
    'data older: the version and its files are written; each target tells whether it has them',
    out({ data: STALE }),
    [write({ set: 'sync', part: 'data', version: DATA }, { set: 'installFiles', files: MANIFEST.installReady })],
  );
});

t.test('targets', async (t) => {
  const one = (state: ControlState | undefined, more: Partial<Snapshot> = {}) =>
    decide({ targets: [target(PLASMO, state), target(TOXO, control())], ...more });
  const mirrored = (status: InstallStatus, ...messages: string[]) =>
    write({ set: 'install', target: PLASMO, kind: 'data', status, messages });

  t.test('no record: rows and install', async (t) => {
    t.strictSame(one(ABSENT), [enqueue('updateMeta', 'install')]);
  });

  t.test('meta older: update-meta, also when only a property is', async (t) => {
    t.strictSame(one(control({ sync: { meta: STALE, data: DATA } })), [enqueue('updateMeta')]);
    const properties = [info('datasetProperties/p.tsv')];
    const objects = stored(FULL, { properties });
    t.strictSame(decide({ stored: objects }), [enqueue('updateMeta')]);
    const sync = { meta: combinedVersion(META, properties), data: DATA };
    t.strictSame(decide({ stored: objects, targets: both(control({ sync })) }), []);
  });

  t.test('shares older: sharing, also where the type does not apply any more', async (t) => {
    const shares = sharesVersion([OFFER]);
    const record = { ...RECORD, sync: { ...RECORD.sync, shares } };
    const objects = stored(FULL, { shares: [OFFER] });
    const inSync = control({ sync: { meta: META, data: DATA, shares } });
    for (const applies of [true, false]) {
      const targets = [target(PLASMO, control(), applies), target(TOXO, inSync)];
      t.strictSame(decide({ record, stored: objects, targets }), [enqueue('sharing')]);
    }
  });

  t.test('data older: install', async (t) => {
    t.strictSame(one(control({ sync: { meta: META, data: STALE } })), [enqueue('install')]);
  });

  t.test('data that nobody has installed yet, that were cut off, or that are asked for: install', async (t) => {
    for (const status of ['queued', 'running'] as const) t.strictSame(one(control({}, status)), [enqueue('install')]);
    t.strictSame(one(control({ messages: {} })), [enqueue('install')]);
    t.strictSame(one(control({}, 'ready-for-reinstall')), [mirrored('ready-for-reinstall'), enqueue('install')]);
  });

  t.test('answers that are final wait for a person', async (t) => {
    for (const status of ['failed-installation', 'failed-validation', 'missing-dependency'] as const)
      t.strictSame(one(control({}, status)), [mirrored(status)]);
  });

  t.test('a missing dependency is tried again by a full run, a day later', async (t) => {
    const state = (age: number) => ({
      ...control({}, 'missing-dependency', NOW - age),
      messages: {
        data: { status: 'missing-dependency', message: 'build 68\nis missing', updated: new Date(NOW - age) } as const,
      },
    });
    const record = {
      ...RECORD,
      installs: [
        { target: PLASMO, kind: 'data', status: 'missing-dependency', messages: ['build 68', 'is missing'] } as const,
        ...RECORD.installs.filter((install) => install.target !== PLASMO),
      ],
    };
    t.strictSame(one(state(DAY), { record, fullRun: true }), [
      { do: 'reinstall', target: PLASMO, message: 'build 68\nis missing' },
      enqueue('install'),
    ]);
    t.strictSame(one(state(DAY), { record }), []);
    t.strictSame(one(state(DAY - 1), { record, fullRun: true }), []);
    const targets = [{ ...target(PLASMO, state(DAY)), discarded: true }, target(TOXO, control())];
    t.strictSame(decide({ targets, record, fullRun: true }), [], 'an operator has discarded it');
  });

  t.test('the mirror follows a final answer, and is left alone while an install is under way', async (t) => {
    const messages = (status: InstallStatus) => ({
      meta: { status: 'complete', message: undefined, updated: new Date(NOW) } as const,
      data: { status, message: 'one\ntwo', updated: new Date(NOW) },
    });
    t.strictSame(one(control({ messages: messages('complete') })), [mirrored('complete', 'one', 'two')]);
    const failed = RECORD.installs.map((install) => ({ ...install, status: 'failed-installation' }) as const);
    const [action, ...rest] = one(control({ messages: messages('queued') }), {
      record: { ...RECORD, installs: failed },
    });
    t.notOk(
      action?.do === 'write' &&
        action.changes.some((change) => 'kind' in change && change.target === PLASMO && change.kind === 'data'),
    );
    t.strictSame(rest, [enqueue('install')]);
  });

  t.test('one that does not answer is passed over, the others are decided', async (t) => {
    t.strictSame(one(undefined), []);
    t.strictSame(decide({ targets: [target(PLASMO, undefined), target(TOXO, ABSENT)] }), [
      enqueue('updateMeta', 'install'),
    ]);
  });

  t.test('one that the type does not apply to, or a type without plugin, has nothing to install', async (t) => {
    t.strictSame(decide({ targets: [target(PLASMO, ABSENT, false), target(TOXO, control())] }), []);
    t.strictSame(decide({ type: undefined, targets: [target(PLASMO, ABSENT, false)] }), []);
  });

  t.test('nothing is installed before the import is complete', async (t) => {
    for (const record of [imported('invalid', 'x'), imported('failed', 'x')])
      t.strictSame(decide({ record, targets: BARE }), []);
  });
});
