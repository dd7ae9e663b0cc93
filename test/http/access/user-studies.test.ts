import t from 'tap';
import { type App, accessApp } from './access-app.ts';

interface Study {
  readonly id: string;
  readonly owner: number;
  readonly visibility?: string;
  readonly state?: string;
  /** Of metadata and data, per target. */
  readonly installs?: Readonly<Record<string, readonly [string, string]>>;
  readonly shares?: Readonly<Record<number, readonly [string | null, string | null]>>;
}

const INSTALLED = { AlphaDB: ['complete', 'complete'] } as const;

async function add(app: App, study: Study): Promise<void> {
  const { id, owner, visibility = 'private', state = 'live', installs = INSTALLED, shares = {} } = study;
  await app.cache.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, upload_status, import_status)
     values ($1, $2::numeric, $1, 0, $3, 'genelist', '1.0', $4, $5, $6, 'success', 'complete')`,
    [id, owner, state, JSON.stringify({ summary: `About ${id}` }), visibility, `Name ${id}`],
  );
  for (const [target, [meta, data]] of Object.entries(installs))
    await app.cache.query(
      `insert into install_status (dataset_id, target_id, kind, status) values ($1, $2, 'meta', $3), ($1, $2, 'data', $4)`,
      [id, target, meta, data],
    );
  for (const [user, [offer, receipt]] of Object.entries(shares))
    await app.cache.query(
      'insert into dataset_share (dataset_id, recipient_id, offer, receipt) values ($1, $2::numeric, $3, $4)',
      [id, user, offer, receipt],
    );
}

const ALL = { studyMetadata: true, subsetting: true, visualizations: true, resultsFirstPage: true, resultsAll: true };
const METADATA = Object.fromEntries(Object.keys(ALL).map((name) => [name, name === 'studyMetadata']));

const entry = (id: string, owned: boolean) => ({
  studyId: id,
  sha1Hash: '',
  displayName: `Name ${id}`,
  shortDisplayName: `Name ${id}`,
  description: `About ${id}`,
  isUserStudy: true,
  type: owned ? 'provider' : 'end-user',
  actionAuthorization: ALL,
  isManager: owned,
  accessRequestStatus: 'unrequested',
});

t.test('own and accepted studies that are installed somewhere are listed', async (t) => {
  const app = await accessApp(t);
  await add(app, { id: 'own-1', owner: 20, shares: { 20: ['grant', 'accept'], 21: ['grant', 'accept'] } });
  await add(app, { id: 'offered', owner: 20, shares: { 21: ['grant', null] } });
  await add(app, { id: 'revoked', owner: 20, shares: { 21: ['revoke', 'accept'] } });
  await add(app, { id: 'deleted', owner: 20, state: 'deleted', shares: { 21: ['grant', 'accept'] } });
  await add(app, { id: 'failed', owner: 20, installs: { AlphaDB: ['complete', 'failed-installation'] } });
  const split = { AlphaDB: ['complete', 'queued'], BetaDB: ['failed-validation', 'complete'] } as const;
  await add(app, { id: 'split', owner: 20, installs: split });
  await add(app, { id: 'nowhere', owner: 20, installs: {} });
  const oneOfTwo = { AlphaDB: ['complete', 'failed-installation'], BetaDB: ['complete', 'complete'] } as const;
  await add(app, { id: 'second', owner: 20, visibility: 'public', installs: oneOfTwo });
  const list = async (who: string) => (await app.call(who, 'GET', '/permissions')).body;
  t.strictSame(await list('20'), {
    perDataset: {
      'own-1': entry('own-1', true),
      offered: entry('offered', true),
      revoked: entry('revoked', true),
      second: entry('second', true),
    },
  });
  t.strictSame(await list('21'), { perDataset: { 'own-1': entry('own-1', false) } });
  t.strictSame(await list('22'), { perDataset: {} }, 'a public one is not listed');
  t.strictSame(await list('4'), { isStaff: true, perDataset: {} }, 'staff have no part in them');
  for (const id of ['failed', 'split', 'nowhere', 'deleted'])
    t.equal((await app.call('20', 'GET', `/permissions/${id}`)).status, 404, id);
});

const OFFERS = [null, 'grant', 'revoke'] as const;
const RECEIPTS = [null, 'accept', 'reject'] as const;
const VISIBILITIES = ['private', 'protected', 'public'] as const;

/** Who is what to the studies below, apart from what is shared. */
const CALLERS = [
  { who: '20', is: 'owner' },
  { who: '21', is: 'recipient' },
  { who: '22', is: 'stranger' },
  // What they are to the site counts for nothing here.
  { who: '1', is: 'stranger' },
  { who: '2', is: 'stranger' },
  { who: '4', is: 'stranger' },
  { who: 'guest-20', is: 'stranger' },
  { who: 'guest-21', is: 'stranger' },
] as const;

t.test('every visibility, offer and receipt, for owner, recipient, stranger, staff and guests', async (t) => {
  const app = await accessApp(t);
  const studies = VISIBILITIES.flatMap((visibility) =>
    OFFERS.flatMap((offer) =>
      RECEIPTS.map((receipt) => ({ id: `${visibility}-${offer}-${receipt}`, visibility, offer, receipt })),
    ),
  );
  for (const { id, visibility, offer, receipt } of studies) {
    const shared = offer === null && receipt === null ? {} : { 21: [offer, receipt] as const };
    await add(app, { id, owner: 20, visibility, shares: shared });
  }
  for (const { who, is } of CALLERS) {
    const listed = ((await app.call(who, 'GET', '/permissions')).body as { perDataset?: Record<string, object> })
      .perDataset;
    for (const { id, visibility, offer, receipt } of studies) {
      const accepted = is === 'recipient' && offer === 'grant' && receipt === 'accept';
      const own = is === 'owner';
      t.strictSame(listed?.[id], own || accepted ? entry(id, own) : undefined, `${who} lists ${id}`);
      const actionAuthorization = own || accepted || visibility === 'public' ? ALL : METADATA;
      const isSeen = own || accepted || visibility !== 'private';
      const one = await app.call(who, 'GET', `/permissions/${id}`);
      t.strictSame(
        [one.status, one.body],
        isSeen
          ? [200, { studyId: id, datasetId: id, isUserStudy: true, actionAuthorization }]
          : [404, { status: 'not-found', message: `there is no study '${id}'` }],
        `${who} asks for ${id}`,
      );
    }
  }
});
