import t from 'tap';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresProblems } from '../../../../engine/adapters/jobs/problems-postgres.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import type { ImportStatus, UploadStatus } from '../../../../engine/model/status.ts';
import { signal } from '../../../conformance/jobs.ts';
import { type OpenProblems, problemsConformance } from '../../../conformance/problems.ts';
import { FakeCatalog, newDataset } from '../../../fakes/fake-catalog.ts';
import { FakeJobs, JobTable } from '../../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../../fakes/fake-leases.ts';
import { FakeProblems } from '../../../fakes/fake-problems.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { metadataOf } from '../../../support/dataset-samples.ts';
import { cacheDatabase, emptyCache, engineProcess, jobsSeen } from '../../../support/engine-process.ts';

const at = await cacheDatabase(t);
const OWNER = '7' as UserId;

const openPostgres: OpenProblems = async (t) => {
  await emptyCache(at);
  const [process, other] = await Promise.all([engineProcess(t, at), engineProcess(t, at)]);
  const { db } = process;
  return {
    problems: new PostgresProblems(other.db),
    jobs: new PostgresJobs(db, process.instance, new VirtualClock()),
    async addToCatalog(dataset, { upload, import: imported }) {
      await db.query(
        `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata,
          visibility, name, upload_status, upload_message, import_status, import_messages)
        values ($1, 7, $1, 0, 'live', 'GeneList', '1.0', '{}', 'private', 'Genes', $2, $3, $4, $5)
        on conflict (dataset_id) do update set upload_status = $2, upload_message = $3, import_status = $4, import_messages = $5`,
        [dataset, upload.status, upload.message ?? null, imported.status, imported.messages],
      );
    },
    async setInstall(dataset, { target, kind, status, messages }) {
      const name = { name: dataset, token: 1 };
      await db.query(
        `insert into install_status (dataset_id, target_id, kind, status, messages) values ($1, $2, $3, $4, $5)
         on conflict (dataset_id, target_id, kind) do update
         set status = excluded.status, messages = excluded.messages, updated = excluded.updated`,
        [name.name, target, kind, status, messages],
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
    async keepFiles(dataset) {
      await db.query(
        `insert into upload (dataset_id, owner_id, state, holder, reserved_bytes, source) values ($1, 7, 'accepted', 1, 0, '{}')`,
        [dataset],
      );
    },
    view: () => jobsSeen(db),
  };
};

const openFake: OpenProblems = async () => {
  const clock = new VirtualClock();
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const catalog = new FakeCatalog(() => true);
  const problems = new FakeProblems(table, catalog);
  return {
    problems,
    jobs: new FakeJobs(table, 1),
    async addToCatalog(dataset, statuses) {
      const { type: _type, ...metadata } = metadataOf(OWNER);
      const type = { name: 'genelist', version: '1.0' };
      catalog.datasets.set(dataset, {
        ...newDataset({ owner: OWNER, dataset }, { ...metadata, type, name: 'Genes' }),
        ...statuses,
      });
      if (statuses.upload.status === 'failed') problems.filesGone.add(dataset);
    },
    setInstall: (dataset, install) =>
      catalog.write(dataset, { name: dataset, token: 1 }, [{ set: 'install', ...install }], signal),
    async statuses(dataset) {
      const known = catalog.datasets.get(dataset);
      if (!known) throw new Error(`no dataset ${dataset}`);
      return { upload: known.upload, import: known.import };
    },
    async keepFiles(dataset) {
      problems.filesGone.delete(dataset);
    },
    view: async () => table.view(),
  };
};

problemsConformance('PostgresProblems', openPostgres);
problemsConformance('FakeProblems', openFake);
