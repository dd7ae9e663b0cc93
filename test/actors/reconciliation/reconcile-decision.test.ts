// What reconciliation decides about a dataset's life, from snapshots alone: registration, deletion, revisions.

import t from 'tap';
import { sharesVersion } from '../../../actors/dataset/dataset-versions.ts';
import type { OlderRevision, Snapshot } from '../../../actors/reconciliation/reconcile-snapshot.ts';
import { revisionOf } from '../../../engine/model/ids.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import {
  ABSENT,
  at,
  BARE,
  control,
  DATA,
  decide,
  decides,
  enqueue,
  FULL,
  flagged,
  imported,
  info,
  MANIFEST,
  META,
  OFFER,
  RECORD,
  stored,
  target,
  UNINSTALLED,
  UPLOADED,
  write,
} from '../../support/reconcile-snapshots.ts';

/** What a registration says first of a dataset that is installed. */
const REGISTERED = [
  { set: 'uploadFiles', files: MANIFEST.rawUploads },
  { set: 'installFiles', files: MANIFEST.installReady },
  { set: 'documentFiles', files: [] },
  { set: 'propertyFiles', files: [] },
  { set: 'shares', shares: [] },
  { set: 'sync', part: 'meta', version: META },
  { set: 'sync', part: 'data', version: DATA },
] as const;
const MIRROR = [PLASMO, TOXO].flatMap((id) =>
  (['meta', 'data'] as const).map(
    (kind) => ({ set: 'install', target: id, kind, status: 'complete', messages: [] }) as const,
  ),
);

t.test('what is in sync everywhere is left alone', async (t) => {
  t.strictSame(decide({}), []);
  t.strictSame(decide({ fullRun: true }), []);
});

t.test('registration', async (t) => {
  decides(t, 'no cache record: it is inserted, whole', { record: undefined }, [
    {
      do: 'register',
      changes: [
        { set: 'state', state: 'live' },
        { set: 'upload', status: 'success' },
        { set: 'import', status: 'complete', messages: [] },
        ...REGISTERED,
        ...MIRROR,
      ],
    },
  ]);

  t.test('documents, properties and shares are inserted with it', async (t) => {
    const shares = [{ recipient: '42', offer: 'grant' } as Snapshot['shares'][number]];
    const folders = {
      documents: [info('documents/read.me', 'd', 5)],
      properties: [info('datasetProperties/p.tsv', 'p', 7)],
      shares: [OFFER],
    };
    const [register, ...rest] = decide({ record: undefined, shares, stored: stored(FULL, folders), targets: BARE });
    t.strictSame(register, {
      do: 'register',
      changes: [
        { set: 'state', state: 'live' },
        { set: 'upload', status: 'success' },
        { set: 'import', status: 'complete', messages: [] },
        { set: 'uploadFiles', files: MANIFEST.rawUploads },
        { set: 'installFiles', files: MANIFEST.installReady },
        { set: 'documentFiles', files: [{ name: 'read.me', size: 5, etag: 'd' }] },
        { set: 'propertyFiles', files: [{ name: 'p.tsv', size: 7, etag: 'p' }] },
        { set: 'shares', shares },
        { set: 'sync', part: 'meta', version: META },
        { set: 'sync', part: 'data', version: DATA },
        { set: 'sync', part: 'shares', version: sharesVersion([OFFER]) },
      ],
    });
    t.strictSame(rest, [enqueue('updateMeta', 'install')]);
  });

  t.test('delete flag and no cache record: it is inserted as deleted', async (t) => {
    const [register, ...rest] = decide({ record: undefined, stored: flagged('delete-flag'), targets: UNINSTALLED });
    t.match(register, { do: 'register', changes: [{ set: 'state', state: 'deleted' }] });
    t.strictSame(rest, []);
  });

  t.test('a deleted dataset that is installed somewhere is inserted as deleting, and uninstalled', async (t) => {
    const targets = [target(PLASMO, control({ deletedStatus: 1 })), target(TOXO, control({ deletedStatus: 2 }))];
    const [register, ...rest] = decide({ record: undefined, stored: flagged('delete-flag'), targets });
    t.match(register, { do: 'register', changes: [{ set: 'state', state: 'deleting' }] });
    t.strictSame(rest, [enqueue('softDelete')]);
  });

  t.test('a target that is disabled or away leaves a deleted dataset deleting', async (t) => {
    const away = [target(PLASMO, control({ deletedStatus: 1 })), target(TOXO, undefined)];
    for (const more of [{ hasDisabledTarget: true, targets: UNINSTALLED }, { targets: away }]) {
      const [register] = decide({ record: undefined, stored: flagged('delete-flag'), ...more });
      t.match(register, { do: 'register', changes: [{ set: 'state', state: 'deleting' }] });
    }
  });

  t.test('a superseded revision whose install was trimmed is inserted as imported, without its files', async (t) => {
    const objects = stored([...UPLOADED, 'revised-flag']);
    t.strictSame(decide({ record: undefined, stored: objects, targets: BARE }), [
      {
        do: 'register',
        changes: [
          { set: 'state', state: 'superseded' },
          { set: 'upload', status: 'success' },
          { set: 'import', status: 'complete', messages: [] },
          ...REGISTERED.filter(
            (change) => change.set !== 'installFiles' && !('part' in change && change.part === 'data'),
          ),
        ],
      },
    ]);
  });

  t.test('what was never imported is inserted as queued, and imported', async (t) => {
    const more = { stored: stored(UPLOADED), manifest: { ...MANIFEST, installReady: [] }, targets: BARE };
    const [register, ...rest] = decide({ record: undefined, ...more });
    t.match(register, {
      changes: [{ set: 'state' }, { set: 'upload', status: 'success' }, { set: 'import', status: 'queued' }],
    });
    t.strictSame(rest, [enqueue('import')]);
  });

  t.test('upload-error.json tells what became of the upload', async (t) => {
    for (const status of ['rejected', 'failed'] as const) {
      const objects = stored(['vdi-meta.json', 'upload-error.json']);
      const uploadError = { status, message: 'no genes' };
      const [register, ...rest] = decide({ record: undefined, stored: objects, uploadError, manifest: undefined });
      t.match(register, { changes: [{ set: 'state' }, { set: 'upload', ...uploadError }, { set: 'documentFiles' }] });
      t.strictSame(rest, []);
    }
  });

  t.test('an accepted upload that was never packed is taken up again', async (t) => {
    const objects = stored(['vdi-meta.json'], { raw: [info('raw/genes.txt')] });
    t.strictSame(decide({ record: undefined, stored: objects, manifest: undefined, targets: BARE }), [
      { do: 'resumeUpload' },
    ]);
  });

  t.test('an upload by URL that was never fetched is inserted as failed, and says so', async (t) => {
    const more = { stored: stored(['vdi-meta.json']), manifest: undefined, targets: BARE };
    const [register, ...rest] = decide({ record: undefined, ...more });
    t.match(register, {
      changes: [{ set: 'state' }, { set: 'upload', status: 'failed', message: /upload them again/ }],
    });
    t.strictSame(rest, []);
  });
});

t.test('deletion', async (t) => {
  const deleted = { ...RECORD, state: 'deleted' } as const;
  const deleting = { ...RECORD, state: 'deleting' } as const;

  decides(
    t,
    'delete flag and cache record: the state is updated, and it is uninstalled',
    { stored: flagged('delete-flag') },
    [write({ set: 'state', state: 'deleting', from: 'live' }), enqueue('softDelete')],
  );

  t.test('uninstalled everywhere: nothing', async (t) => {
    t.strictSame(decide({ record: deleted, stored: flagged('delete-flag'), targets: UNINSTALLED }), []);
    t.strictSame(decide({ record: deleted, stored: flagged('delete-flag'), targets: BARE }), []);
  });

  t.test('not uninstalled: uninstalled', async (t) => {
    for (const deletedStatus of [0, 2] as const)
      for (const record of [deleted, deleting]) {
        const targets = [target(PLASMO, ABSENT), target(TOXO, control({ deletedStatus }), false)];
        t.strictSame(decide({ record, stored: flagged('delete-flag'), targets }), [enqueue('softDelete')]);
      }
  });

  decides(
    t,
    'uninstalled everywhere, and nobody has said so: the softDelete lane does',
    { record: deleting, stored: flagged('delete-flag'), targets: UNINSTALLED },
    [enqueue('softDelete')],
  );

  t.test('target disabled: waited for, and the others are uninstalled', async (t) => {
    const more = { record: deleting, stored: flagged('delete-flag'), hasDisabledTarget: true };
    t.strictSame(decide({ ...more, targets: [target(PLASMO, control({ deletedStatus: 1 }))] }), []);
    t.strictSame(decide({ ...more, targets: [target(PLASMO, control())] }), [enqueue('softDelete')]);
  });

  t.test('both flags: deleted wins', async (t) => {
    const record = { ...RECORD, state: 'superseded' } as const;
    t.strictSame(decide({ record, stored: flagged('delete-flag', 'revised-flag'), targets: UNINSTALLED }), [
      write({ set: 'state', state: 'deleting', from: 'superseded' }),
      enqueue('softDelete'),
    ]);
  });

  t.test('revised flag alone: superseded and uninstalled', async (t) => {
    t.strictSame(decide({ stored: flagged('revised-flag') }), [
      write({ set: 'state', state: 'superseded', from: 'live' }),
      enqueue('softDelete'),
    ]);
    const record = { ...RECORD, state: 'superseded' } as const;
    t.strictSame(decide({ record, stored: flagged('revised-flag'), targets: UNINSTALLED }), []);
  });

  t.test('a superseded revision is shared in the cache', async (t) => {
    const record = { ...RECORD, state: 'superseded' } as const;
    const objects = stored([...FULL, 'revised-flag'], { shares: [OFFER] });
    t.strictSame(decide({ record, stored: objects, targets: UNINSTALLED }), [enqueue('sharing')]);
  });

  t.test('undelete: live again, and installed from scratch', async (t) => {
    for (const record of [deleted, deleting])
      t.strictSame(decide({ record, targets: [target(PLASMO, control({ deletedStatus: 1 })), target(TOXO, ABSENT)] }), [
        write({ set: 'state', state: 'live', from: record.state }),
        { do: 'reopen', target: PLASMO },
        enqueue('install', 'updateMeta'),
      ]);
  });

  decides(
    t,
    'undelete of a superseded revision: superseded',
    { record: deleted, stored: flagged('revised-flag'), targets: UNINSTALLED },
    [write({ set: 'state', state: 'superseded', from: 'deleted' })],
  );

  t.test('a live dataset that a target takes for deleted is reopened there, also before its import', async (t) => {
    const targets = [target(PLASMO, control({ deletedStatus: 2 })), target(TOXO, control())];
    t.strictSame(decide({ targets }), [{ do: 'reopen', target: PLASMO }, enqueue('install')]);
    t.strictSame(decide({ targets, record: imported('queued'), stored: stored(UPLOADED) }), [
      { do: 'reopen', target: PLASMO },
      enqueue('import'),
    ]);
  });

  t.test('a target that the type does not apply to any more stays as it is', async (t) => {
    t.strictSame(
      decide({ targets: [target(PLASMO, control({ deletedStatus: 1 }), false), target(TOXO, control())] }),
      [],
    );
  });

  t.test('what is being pruned is left to the hardDelete lane', async (t) => {
    const record = { ...RECORD, state: 'pruning' } as const;
    t.strictSame(decide({ record, stored: flagged('delete-flag') }), []);
    t.strictSame(decide({ record, stored: stored(FULL), older: [older({ deleteFlag: true })] }), []);
  });
});

const older = (flags: Partial<OlderRevision> = {}): OlderRevision => ({
  dataset: revisionOf(at.dataset, 1),
  deleteFlag: false,
  revisedFlag: false,
  ...flags,
});
const olderKey = objectKey({ ...at, dataset: revisionOf(at.dataset, 1) }, 'delete-flag');

t.test('older revisions', async (t) => {
  t.test('get the revised flag once the data are complete on every target', async (t) => {
    t.strictSame(decide({ older: [older()] }), [{ do: 'flagOlder', flag: 'revised-flag' }]);
    t.strictSame(decide({ older: [older({ revisedFlag: true })] }), []);
  });

  t.test('do not get it while a target has not, or does not answer, or when no target is concerned', async (t) => {
    const incomplete = control({}, 'failed-validation');
    const cases = [
      [target(PLASMO, control()), target(TOXO, incomplete)],
      [target(PLASMO, control()), target(TOXO, undefined)],
      [target(PLASMO, control(), false)],
      [],
    ];
    for (const targets of cases)
      t.notOk(decide({ older: [older()], targets }).some((action) => action.do === 'flagOlder'));
    const concerned = [target(PLASMO, control()), target(TOXO, incomplete, false)];
    t.ok(decide({ older: [older()], targets: concerned }).some((action) => action.do === 'flagOlder'));
  });

  t.test('get the delete flag from the newest, not from one that is superseded', async (t) => {
    const record = { ...RECORD, state: 'deleted' } as const;
    const more = { record, targets: UNINSTALLED };
    t.strictSame(decide({ ...more, stored: flagged('delete-flag'), older: [older({ revisedFlag: true })] }), [
      { do: 'flagOlder', flag: 'delete-flag' },
    ]);
    t.strictSame(decide({ ...more, stored: flagged('delete-flag'), older: [older({ deleteFlag: true })] }), []);
    t.strictSame(decide({ ...more, stored: flagged('delete-flag', 'revised-flag'), older: [older()] }), []);
  });

  decides(
    t,
    'lose the delete flag when the newest has none, after they got the revised flag',
    { older: [older({ deleteFlag: true })] },
    [
      { do: 'flagOlder', flag: 'revised-flag' },
      { do: 'remove', keys: [olderKey] },
    ],
  );
});
