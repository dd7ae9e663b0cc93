import t from 'tap';
import { accessApp, enters, replace } from './access-app.ts';
import { disagreements } from './books.ts';

t.test('books that agree have no fault, and each thing that is not as it should be is found', async (t) => {
  const app = await accessApp(t);
  await enters(app, 40, 'private', {});
  await app.call('40', 'PATCH', '/dataset-end-users/40-private', [replace('/purpose', 'x')]);
  await app.call('2', 'PATCH', '/dataset-end-users/40-private', [replace('/approvalStatus', 'approved')]);
  t.strictSame(await disagreements(app.db), []);
  const counts = "the counts of '' are wrong";
  await app.db.query("update people_count set approved = approved + 1 where dataset_id = ''");
  t.strictSame(await disagreements(app.db), [counts]);
  await app.db.query("alter table end_user disable trigger all; update end_user set purpose = 'y'");
  const row = 'end_user 1: the row is not as its last entry says';
  t.strictSame((await disagreements(app.db)).toSorted(), [row, counts]);
  await app.db.query(
    'alter table end_user_history disable trigger all; delete from end_user_history where history_id = 2',
  );
  const chain = 'end_user 1: entry 3 does not follow from the one before it';
  const place = 'end_user 1: entry 3 is not change 2';
  const extra = ['edit-managers', 'edit-requester'].map(
    (template) => new RegExp(`^a mail of no change.*"${template}"`),
  );
  t.match((await disagreements(app.db)).toSorted(), [...extra, chain, place, row, counts]);
  await app.db.query(`delete from outbox where draft ->> 'template' = 'approved'`);
  t.match((await disagreements(app.db)).toSorted(), [...extra, chain, place, row, /^no mail: \["approved"/, counts]);
});
