import t from 'tap';
import { onMinio } from './minio-changes.ts';
import { announcesChanges } from './s3-notifications.ts';

for (const versioned of [false, true])
  t.test(
    `MinIO announces every change of an object once, under its key, ${versioned ? 'with' : 'without'} versions`,
    (t) => announcesChanges(t, onMinio({ versioned }), { anyOrder: true }),
  );

t.test('MinIO announces what changed while RabbitMQ was away once it is back', (t) =>
  announcesChanges(t, onMinio(), { anyOrder: true, away: true }),
);
