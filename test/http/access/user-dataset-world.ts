// Users' datasets behind the routes of the installer and of the access service, over one cache database and one clock.

import { tellSites } from '../../../actors/daemons/site-grants.ts';
import { PostgresGrantChanges, PostgresGrants } from '../../../engine/adapters/access/user-datasets.ts';
import { controlMigrations, migrate } from '../../../engine/adapters/migrations/migrations.ts';
import { PostgresInstallTarget } from '../../../engine/adapters/sites/install-target-postgres.ts';
import { PostgresSiteGrants } from '../../../engine/adapters/sites/site-grants-postgres.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { fileKey } from '../../../engine/model/object-key.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { PLASMO } from '../../support/dataset-samples.ts';
import { type App as InstallerApp, installerApp } from '../installer/installer-app.ts';
import { type Added, imported } from '../installer/stored-datasets.ts';
import { type Answer, callAs } from '../numbered-callers.ts';
import { type App, accessApp, never, replace, TEXTS } from './access-app.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export type Visibility = 'private' | 'protected' | 'controlled' | 'public';

export interface UserDatasetWorld {
  readonly app: App;
  readonly installer: InstallerApp;
  /** A dataset that is imported and installed, with an archive of each kind, a document and a property file. */
  make(visibility: Visibility, more?: Partial<DatasetMetadata>): Promise<Added>;
  /** As its owner would change it. */
  become(at: Added, visibility: Visibility, daysForApproval?: number): Promise<void>;
  /** Access that the person asks for. */
  asks(user: UserId | string, dataset: DatasetId): Promise<Answer>;
  /** What the owner makes of the request. */
  decides(
    at: Added,
    user: UserId | string,
    ...changes: readonly (readonly [path: string, value: unknown])[]
  ): Promise<Answer>;
  get(user: string | undefined, path: string): Promise<Answer>;
  /** Puts it on the site as it is now, as the lanes do. */
  install(at: Added): Promise<void>;
  /** Has the site told of grants. */
  tellSite(): Promise<void>;
  /** To whom the site shows it, ascending. */
  shownTo(at: Added): Promise<readonly string[]>;
}

/** @param owner of every dataset */
export async function userDatasetWorld(
  t: Teardown,
  owner: UserId,
  clock = new VirtualClock(),
): Promise<UserDatasetWorld> {
  const app = await accessApp(t, {}, clock);
  await migrate(app.cache, 'control', await controlMigrations(), never);
  const target = new PostgresInstallTarget(app.cache, {
    id: PLASMO,
    displayName: 'Plasmo',
    schema: 'control',
    dataSchema: 'data',
  });
  const telling = tellSites({
    changes: new PostgresGrantChanges(app.db),
    sites: [new PostgresSiteGrants(app.cache, { id: PLASMO, schema: 'control' })],
    periodMs: 5_000,
    ...{ clock, log: silentLogger(), metrics: new Metrics() },
  });
  t.teardown(() => telling.kill());
  await telling.start(never);
  const installer = await installerApp(t, app.cache, { clock: app.clock, grants: new PostgresGrants(app.db) });
  const storedAs = (visibility: Visibility, daysForApproval = -1) =>
    visibility === 'controlled'
      ? ({ visibility: 'protected', daysForApproval: 0 } as const)
      : ({ visibility, daysForApproval } as const);
  const contacts = [{ firstName: 'Olga', lastName: 'Owner', email: 'olga@lab.example', isPrimary: true }];
  return {
    app,
    installer,
    async make(visibility, more = {}) {
      const at = await imported(installer, app.cache, owner, { contacts, ...storedAs(visibility), ...more });
      await installer.store.put(fileKey(at, 'documents', 'notes.pdf'), Buffer.from('notes'), {}, never);
      await installer.store.put(fileKey(at, 'datasetProperties', 'p.tsv'), Buffer.from('a\tb\n'), {}, never);
      await app.cache.query(
        `insert into install_status (dataset_id, target_id, kind, status)
         values ($1, 'PlasmoSite', 'meta', 'complete'), ($1, 'PlasmoSite', 'data', 'complete')`,
        [at.dataset],
      );
      return at;
    },
    async become(at, visibility, daysForApproval) {
      const stored = storedAs(visibility, daysForApproval);
      await app.cache.query(
        'update dataset set visibility = $2::text, metadata = metadata || $3::jsonb where dataset_id = $1',
        [at.dataset, stored.visibility, JSON.stringify(stored)],
      );
    },
    asks: (user, datasetId) =>
      app.call(String(user), 'POST', '/dataset-end-users', { ...TEXTS, userId: Number(user), datasetId }),
    decides: (at, user, ...changes) =>
      app.call(
        at.owner,
        'PATCH',
        `/dataset-end-users/${user}-${at.dataset}`,
        changes.map(([path, value]) => replace(path, value)),
      ),
    async install(at) {
      const stored = await installer.queries.view(at.dataset, never);
      if (!stored) throw new Error(`${at.dataset} is not there`);
      await target.write(
        at.dataset,
        { document: { ...at, metadata: stored.metadata, category: 'Gene List', showVisibility: true } },
        1,
        never,
      );
      const recipients = stored.shares.filter((share) => share.granted && share.accepted);
      const version = { modified: new Date(0), etag: 'e' };
      await target.writeVisibility(
        at.dataset,
        recipients.map((share) => share.recipient),
        version,
        1,
        never,
      );
      for (const kind of ['meta', 'data'] as const)
        await target.write(at.dataset, { messages: { [kind]: { status: 'complete' } } }, 1, never);
    },
    async tellSite() {
      await telling.runNow(never);
    },
    async shownTo(at) {
      const rows = await app.cache.query<{ user_id: string }>(
        'select user_id::text as user_id from control.available_user_datasets where dataset_id = $1 order by 1',
        [at.dataset],
      );
      return rows.map((row) => row.user_id);
    },
    get: (user, path) =>
      path.startsWith('/permissions') ? app.call(user, 'GET', path) : callAs(user, 'GET', installer.url + path),
  };
}
