import t from 'tap';
import { type DatasetState, STORED_VISIBILITIES } from '../../../engine/model/status.ts';
import { type Sight, sightOf, sightOfReplaced, type Viewer } from '../../../http/installer/access.ts';
import { CREATED, FRIEND, metadata, STRANGER, share, viewed } from './datasets.ts';
import { OWNER } from './installation.ts';

const open = share(FRIEND, true, false);
const accepted = share(FRIEND, true, true);
const revoked = share(FRIEND, false, true);

t.test('a dataset that is not private is visible to all', async (t) => {
  for (const visibility of STORED_VISIBILITIES)
    t.equal(
      sightOf(viewed({ metadata: metadata({ visibility }) }), STRANGER),
      visibility === 'private' ? 'absent' : 'visible',
    );
});

const published = { firstPublished: CREATED };
const cases: readonly (readonly [string, Parameters<typeof viewed>[0], Viewer, Sight])[] = [
  ['its owner sees a private dataset', {}, OWNER, 'visible'],
  ['a superseded one too', { state: 'superseded' }, OWNER, 'visible'],
  ['a stranger knows nothing of it', {}, STRANGER, 'absent'],
  ['a recipient who accepted sees it', { shares: [accepted] }, FRIEND, 'visible'],
  ['a recipient who did not accept does not', { shares: [open] }, FRIEND, 'absent'],
  ['to a recipient whose share was revoked it is gone', { shares: [revoked] }, FRIEND, 'gone'],
  ['to others it is still absent', { shares: [accepted] }, STRANGER, 'absent'],
  ['once public, then private: gone', { metadata: metadata(published) }, STRANGER, 'gone'],
  ['but not to its owner', { metadata: metadata(published) }, OWNER, 'visible'],
  ['a guest knows nothing of a private one', { shares: [accepted] }, 'guest', 'absent'],
  ['a guest sees one that is not private', { metadata: metadata({ visibility: 'protected' }) }, 'guest', 'visible'],
];
for (const [fact, changes, viewer, sight] of cases)
  t.test(fact, async (t) => {
    t.equal(sightOf(viewed(changes), viewer), sight);
  });

for (const state of ['deleting', 'deleted', 'pruning'] satisfies DatasetState[])
  t.test(`a dataset that is ${state} is gone to all who knew of it and absent to the rest`, async (t) => {
    t.equal(sightOf(viewed({ state }), OWNER), 'gone');
    for (const item of [open, accepted, revoked]) t.equal(sightOf(viewed({ state, shares: [item] }), FRIEND), 'gone');
    t.equal(sightOf(viewed({ state }), STRANGER), 'absent');
    t.equal(sightOf(viewed({ state, metadata: metadata(published) }), STRANGER), 'gone');
  });

t.test('of a replaced revision is taken back what is taken back of the newest', async (t) => {
  const open = { metadata: metadata({ visibility: 'public', ...published }) } as const;
  const closed = { metadata: metadata(published) };
  const cases: readonly (readonly [
    string,
    Parameters<typeof viewed>[0],
    Parameters<typeof viewed>[0],
    Viewer,
    Sight,
  ])[] = [
    ['both are public', open, open, STRANGER, 'visible'],
    ['the newest is private again', open, closed, STRANGER, 'gone'],
    ['to guests too', open, closed, 'guest', 'gone'],
    ['both are shared', { shares: [accepted] }, { shares: [accepted] }, FRIEND, 'visible'],
    ['the share of the newest was revoked', { shares: [accepted] }, { shares: [revoked] }, FRIEND, 'gone'],
    ['the newest is deleted', open, { ...open, state: 'deleting' }, STRANGER, 'gone'],
    ['the newest alone is public', {}, open, STRANGER, 'absent'],
    ['its owner sees it in any case', open, { state: 'deleting' }, OWNER, 'visible'],
    ['so does an administrator', {}, { state: 'deleting' }, 'admin', 'visible'],
  ];
  for (const [fact, old, newest, viewer, sight] of cases)
    t.equal(sightOfReplaced(viewed({ ...old, state: 'superseded' }), viewed(newest), viewer), sight, fact);
  t.equal(sightOfReplaced(viewed({ ...open, state: 'superseded' }), undefined, STRANGER), 'gone', 'none is live');
});
