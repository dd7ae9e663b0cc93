import t from 'tap';
import { onRadosgw } from './radosgw-changes.ts';
import { announcesChanges } from './s3-notifications.ts';

t.test('radosgw announces every change of an object once, under its key, in order', (t) =>
  announcesChanges(t, onRadosgw()),
);
