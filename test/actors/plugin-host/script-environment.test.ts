import t from 'tap';
import { importId } from '../../../actors/plugin-host/script-environment.ts';

t.test('ids of imports go on from those of earlier versions: none is given a second time', async (t) => {
  t.equal(importId(Date.UTC(2022, 6, 1), 0), '00');
  t.equal(importId(Date.UTC(2026, 0, 1, 12, 30, 15, 999), 65_535), '1tvc2f1ekf');
});
