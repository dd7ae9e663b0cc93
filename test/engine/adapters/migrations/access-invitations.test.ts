// When invitations are looked for again.

import t from 'tap';
import { PostgresAccessInvitations } from '../../../../engine/adapters/access/invitations.ts';
import { accessMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import type { CuratedId } from '../../../../engine/model/access-request.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { openDatabase } from '../../../support/database.ts';
import { recordStatements } from '../../../support/statement-plans.ts';

const signal = new AbortController().signal;
const NOW = Date.parse('2026-03-01T12:00:00Z');
const USER = '7' as UserId;
const email = 'Una@lab.example';
const invitation = { email, datasetId: 'A' as CuratedId, kind: 'provider', isManager: true } as const;
const later = (ms: number): Date => new Date(NOW + ms);
const cause = { user: '1' as UserId, at: later(0) };

async function setup(t: { teardown(fn: () => unknown): void }) {
  const db = await openDatabase(t, 'access', 2);
  await migrate(db, 'access', await accessMigrations(), signal);
  await db.query(`insert into curated_dataset values ('A', 'S-A', '', '', '', '', 'private', -1, '', '', '', '', '')`);
  const statements = recordStatements(db);
  return { statements, here: new PostgresAccessInvitations(db), elsewhere: new PostgresAccessInvitations(db) };
}

t.test('where there was none, none is looked for again for a second', async (t) => {
  const { here, statements } = await setup(t);
  for (const ms of [0, 0, 999, 1_000, 1_500]) t.equal(await here.redeem(email, USER, later(ms), signal), 0);
  t.equal(statements.length, 2);
});

t.test('one that was made here is seen at once, whatever case the address is in', async (t) => {
  const { here } = await setup(t);
  t.equal(await here.redeem(email, USER, later(0), signal), 0);
  t.ok(await here.invite(invitation, cause, signal));
  t.equal(await here.redeem(email.toLowerCase(), USER, later(1), signal), 1);
  t.equal(await here.redeem(email, USER, later(2), signal), 0, 'once');
});

t.test('one that was made elsewhere is seen after that second', async (t) => {
  const { here, elsewhere } = await setup(t);
  t.equal(await here.redeem(email, USER, later(0), signal), 0);
  t.ok(await elsewhere.invite(invitation, cause, signal));
  t.equal(await here.redeem(email, USER, later(1_000), signal), 1);
});

t.test('what is asked for while an invitation is made is not remembered as none', async (t) => {
  const { here } = await setup(t);
  const [found] = await Promise.all([
    here.redeem(email, USER, later(0), signal),
    here.invite(invitation, cause, signal),
  ]);
  t.equal(found + (await here.redeem(email, USER, later(0), signal)), 1);
});
