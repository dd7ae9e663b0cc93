import t from 'tap';
import { controlMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import { PostgresInstallTarget } from '../../../../engine/adapters/sites/install-target-postgres.ts';
import { PostgresSiteGrants } from '../../../../engine/adapters/sites/site-grants-postgres.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { siteGrantsConformance } from '../../../conformance/site-grants.ts';
import { openDatabase } from '../../../support/database.ts';
import { PLASMO } from '../../../support/dataset-samples.ts';

t.test('PostgreSQL', async (t) => {
  siteGrantsConformance(t, async (t) => {
    const db = await openDatabase(t, 'public');
    await migrate(db, 'control', await controlMigrations(), new AbortController().signal);
    const at = { id: PLASMO, displayName: 'Plasmo', schema: 'control', dataSchema: 'plasmo' };
    return {
      grants: new PostgresSiteGrants(db, at),
      target: new PostgresInstallTarget(db, at),
      async shownTo(dataset) {
        const rows = await db.query<{ user_id: UserId }>(
          'select user_id from control.available_user_datasets where dataset_id = $1',
          [dataset],
        );
        return rows.map((row) => row.user_id);
      },
    };
  });
});
