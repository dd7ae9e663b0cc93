import t from 'tap';
import { type DatasetId, targetId, type UserId } from '../../../../engine/model/ids.ts';
import type { Profile } from '../../../../engine/ports/accounts.ts';
import { listingItem, peopleOf } from '../../../../http/installer/views/listing-item.ts';
import { DATASET, FRIEND, listed, metadata, STRANGER, share } from '../datasets.ts';
import { dataTypes, OWNER } from '../installation.ts';

const person = (userId: UserId): Profile => ({
  userId,
  firstName: `first ${userId}`,
  lastName: `last ${userId}`,
  email: `${userId}@x.org`,
  affiliation: `house ${userId}`,
});
const profiles = new Map([OWNER, FRIEND].map((id) => [id, person(id)]));
const view = { viewer: OWNER, guest: false, versionNamed: true, profiles, dataTypes: dataTypes() };

t.test('shows a dataset as the contract lists it', async (t) => {
  const dataset = listed({
    metadata: metadata({ description: 'More', visibility: 'protected', daysForApproval: 0 }),
    shares: [share(FRIEND, true, true), share(STRANGER, true, false), share('99' as UserId, false, true)],
    installs: [{ target: targetId('PlainSite'), kind: 'meta', status: 'complete', messages: [] }],
  });
  t.strictSame(listingItem(dataset, view), {
    datasetId: DATASET,
    owner: person(OWNER),
    type: { name: 'genelist', version: '1.0', category: 'Gene List' },
    visibility: 'controlled',
    name: 'My genes',
    origin: 'direct-upload',
    installTargets: ['PlainSite', 'GenomeSite'],
    status: {
      upload: { status: 'success' },
      import: { status: 'complete' },
      install: [
        { installTarget: 'PlainSite', meta: { status: 'complete' }, data: { status: 'queued' } },
        { installTarget: 'GenomeSite', meta: { status: 'queued' }, data: { status: 'queued' } },
      ],
    },
    shares: [
      { userId: FRIEND, firstName: 'first 77', lastName: 'last 77', affiliation: 'house 77', accepted: true },
      { userId: STRANGER, firstName: '', lastName: '', affiliation: '', accepted: false },
    ],
    fileCount: 2,
    fileSizeTotal: 30,
    created: '2030-01-02T03:04:05.678Z',
    summary: 'Genes that I like',
    description: 'More',
  });
});

t.test('a guest sees whose a dataset is by number, and by name when it is public', async (t) => {
  const asGuest = { ...view, viewer: '5' as UserId, guest: true };
  const nobody = { userId: OWNER, firstName: '', lastName: '', email: '', affiliation: '' };
  for (const visibility of ['private', 'protected'] as const)
    t.strictSame(listingItem(listed({ metadata: metadata({ visibility }) }), asGuest).owner, nobody, visibility);
  t.strictSame(listingItem(listed({ metadata: metadata({ visibility: 'public' }) }), asGuest).owner, person(OWNER));
});

t.test('shares are nobody else’s business', async (t) => {
  const dataset = listed({ shares: [share(FRIEND, true, true)] });
  t.strictSame(listingItem(dataset, { ...view, viewer: FRIEND }).shares, []);
  t.strictSame(peopleOf(dataset, FRIEND), [OWNER]);
  t.strictSame(peopleOf(dataset, OWNER), [OWNER, FRIEND]);
});

t.test('with a target asked for, only its install status is shown', async (t) => {
  const item = listingItem(listed(), { ...view, target: targetId('GenomeSite') });
  t.strictSame(item.installTargets, ['PlainSite', 'GenomeSite']);
  t.strictSame(
    item.status.install.map((install) => install.installTarget),
    ['GenomeSite'],
  );
});

t.test('installs are shown from a complete import on; messages when there are any', async (t) => {
  const waiting = listed({
    import: undefined,
    upload: { status: 'rejected', message: 'no good' },
    installs: [{ target: targetId('PlainSite'), kind: 'data', status: 'running', messages: ['x'] }],
  });
  t.strictSame(listingItem(waiting, view).status, {
    upload: { status: 'rejected', message: 'no good' },
    import: { status: 'queued' },
    install: [],
  });
  const invalid = listed({ import: { status: 'invalid', messages: ['bad row'] } });
  t.strictSame(listingItem(invalid, view).status.import, { status: 'invalid', messages: ['bad row'] });
  const running = listingItem({ ...waiting, import: { status: 'complete', messages: [] } }, view);
  t.strictSame(running.status.install[0]?.data, { status: 'running', messages: ['x'] });
});

t.test('a revision names its original, the original does not', async (t) => {
  const history = { originalId: DATASET, revisions: [] };
  const revision = listed({ dataset: `${DATASET}_1` as DatasetId, metadata: metadata({ revisionHistory: history }) });
  t.equal(listingItem(revision, view).originalId, DATASET);
  t.notOk('originalId' in listingItem(listed({ metadata: metadata({ revisionHistory: history }) }), view));
});

t.test('a type that is no longer registered shows its name as category', async (t) => {
  const dataset = listed({ metadata: metadata({ type: { name: 'ancient', version: '0' } }) });
  t.strictSame(listingItem(dataset, view).type, { name: 'ancient', version: '0', category: 'ancient' });
});
