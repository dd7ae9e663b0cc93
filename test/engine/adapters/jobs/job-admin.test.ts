import t from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresJobAdmin } from '../../../../engine/adapters/jobs/job-admin-postgres.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import type { ImportStatus, UploadStatus } from '../../../../engine/model/status.ts';
import { jobAdminConformance, type OpenJobAdmin } from '../../../conformance/job-admin.ts';
import { signal } from '../../../conformance/jobs.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeJobAdmin } from '../../../fakes/fake-job-admin.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../../fakes/fake-leases.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { metadataOf } from '../../../support/dataset-samples.ts';
import { cacheDatabase, emptyCache, engineProcess, jobsSeen } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);
const OWNER = '7' as UserId;

const openPostgres: OpenJobAdmin = async (t) => {
  await emptyCache(at);
  const [process, other] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  const { db } = process;
  return {
    // In another process than the lanes: only the database tells them.
    admin: new PostgresJobAdmin(other.db),
    jobs: new PostgresJobs(db, process.instance, new VirtualClock()),
    async addToCatalog(dataset, { upload, import: imported }) {
      await db.query(
        `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata,
          visibility, name, upload_status, upload_message, import_status, import_messages)
        values ($1, 1, $1, 0, 'live', 'genelist', '1.0', '{}', 'private', 'name', $2, $3, $4, $5)`,
        [dataset, upload.status, upload.message ?? null, imported.status, imported.messages],
      );
    },
    async statuses(dataset) {
      const [row] = await db.query<{
        upload_status: UploadStatus;
        upload_message: string | null;
        import_status: ImportStatus;
        import_messages: string[];
      }>('select upload_status, upload_message, import_status, import_messages from dataset where dataset_id = $1', [
        dataset,
      ]);
      if (!row) throw new Error(`no dataset ${dataset}`);
      return {
        upload: { status: row.upload_status, message: row.upload_message ?? undefined },
        import: { status: row.import_status, messages: row.import_messages },
      };
    },
    async addAttempt(dataset, { target, kind, attempts, notBefore, started }) {
      await db.query('insert into install_attempt values ($1, $2, $3, $4, $5, $6)', [
        dataset,
        target,
        kind,
        attempts,
        notBefore ?? null,
        started,
      ]);
    },
    attempts: (dataset) => new PostgresCatalog(db).attempts(dataset, signal),
    view: () => jobsSeen(db),
  };
};

const openFake: OpenJobAdmin = async () => {
  const clock = new VirtualClock();
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const catalog = new FakeCatalog(() => true);
  return {
    admin: new FakeJobAdmin(table, catalog),
    jobs: new FakeJobs(table, 1),
    async addToCatalog(dataset, statuses) {
      const nothing = { state: 'live', installs: [], sync: {}, files: {}, shares: [] } as const;
      catalog.datasets.set(dataset, { ...nothing, ...statuses, dataset, owner: OWNER, metadata: metadataOf(OWNER) });
    },
    async statuses(dataset) {
      const known = catalog.datasets.get(dataset);
      if (!known) throw new Error(`no dataset ${dataset}`);
      return { upload: known.upload, import: known.import };
    },
    addAttempt: (dataset, attempt) =>
      catalog.write(dataset, { name: dataset, token: 1 }, [{ set: 'attempt', ...attempt }], signal),
    attempts: (dataset) => catalog.attempts(dataset, signal),
    view: async () => table.view(),
  };
};

jobAdminConformance('PostgresJobAdmin', openPostgres);
jobAdminConformance('FakeJobAdmin', openFake);
