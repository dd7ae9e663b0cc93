// The routes of the installer API, and what they depend on.

import type { DataTypes } from '../../engine/model/data-types.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { Grants } from '../../engine/ports/access-requests.ts';
import type { AuditLog } from '../../engine/ports/audit-log.ts';
import type { DatasetEdits } from '../../engine/ports/dataset-edits.ts';
import type { DatasetEvents } from '../../engine/ports/dataset-events.ts';
import type { DatasetQueries, DatasetReports, FileDigests } from '../../engine/ports/dataset-queries.ts';
import type { EventMailWishes } from '../../engine/ports/event-mails.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { JobCancels } from '../../engine/ports/job-cancels.ts';
import type { JobHistory } from '../../engine/ports/job-history.ts';
import type { JobAdmin, Jobs } from '../../engine/ports/jobs.ts';
import type { ObjectStore, StoreHold } from '../../engine/ports/object-store.ts';
import type { PauseKind, Pauses } from '../../engine/ports/pauses.ts';
import type { OwnerRetries, Problems, SecondChances } from '../../engine/ports/problems.ts';
import type {
  FailedInstalls,
  ProcessSettings,
  PrunerControl,
  ReconcilerControl,
} from '../../engine/ports/process-control.ts';
import type { StoredBytes } from '../../engine/ports/storage-room.ts';
import type { WebhookDeliveries, Webhooks } from '../../engine/ports/webhooks.ts';
import type { Route } from '../kernel/pipeline/route.ts';
import { auditRoute } from './admin/audit.ts';
import { jobCancelRoute } from './admin/cancel-job.ts';
import { clearFailedRoutes } from './admin/clear-failed.ts';
import { pruneRoutes, reconcileRoutes } from './admin/daemons.ts';
import { datasetHistoryRoute } from './admin/dataset-history.ts';
import { allDatasetsRoute, datasetReportRoute } from './admin/dataset-reports.ts';
import { failedImportsRoute, failedInstallsRoute } from './admin/failed-reports.ts';
import { jobRetryRoute, jobsReportRoute } from './admin/jobs.ts';
import { laneSizesRoute } from './admin/lane-sizes.ts';
import { logRoute, type RecentLogs } from './admin/logs.ts';
import { type HistorySource, metricsHistoryRoute } from './admin/metrics-history.ts';
import { objectListingRoute } from './admin/object-listing.ts';
import { pauseRoutes } from './admin/pauses.ts';
import { problemOrderRoutes } from './admin/problem-orders.ts';
import { problemRoutes } from './admin/problems.ts';
import { processSettingsRoutes } from './admin/process-settings.ts';
import { proxyUploadRoute } from './admin/proxy-upload.ts';
import { purgeDatasetRoute } from './admin/purge-dataset.ts';
import { storeHoldRoutes } from './admin/store-hold.ts';
import { detailsRoute, type InstallStatusSource } from './dataset-details.ts';
import { deleteRoute, undeleteRoute } from './deletion.ts';
import type { StreamLimits } from './events/event-places.ts';
import { type EventMetrics, eventRoutes } from './events/event-routes.ts';
import { downloadRoutes, filesRoute } from './files/files.ts';
import { folderRoutes } from './files/folder-routes.ts';
import { storedDocumentRoutes } from './files/stored-documents.ts';
import { type InstallTargetSettings, InstallTargets } from './install-targets.ts';
import { communityRoute, listRoute } from './listings.ts';
import { DetailsCheck } from './metadata/details-check.ts';
import { PatchCheck } from './metadata/patch-check.ts';
import { notificationRoutes } from './notifications.ts';
import { patchRoute } from './patch.ts';
import { retryRoute } from './retry.ts';
import {
  pluginsRoute,
  type SelfMetaOptions,
  type ServiceMetaSettings,
  selfMetaRoute,
  serviceMetaRoute,
} from './service-meta.ts';
import { shareOffersRoute, shareRoutes } from './shares.ts';
import { type CreateOptions, Creation, createRoute } from './uploads/create.ts';
import { ResumableIntake, type ResumableParts, type ResumableSettings } from './uploads/resumable/resumable-intake.ts';
import { resumableRoutes } from './uploads/resumable/resumable-routes.ts';
import { reviseRoute } from './uploads/revise.ts';
import { type IntakeOptions, type IntakeSettings, UploadIntake } from './uploads/upload-intake.ts';
import { UploadSlots } from './uploads/upload-limits.ts';
import { type WebhookSettings, webhookRoutes } from './webhooks/webhook-routes.ts';

export interface InstallerSettings extends IntakeSettings, ResumableSettings, ServiceMetaSettings {
  /** Disabled ones too. */
  readonly installTargets: readonly InstallTargetSettings[];
  /** An offer counts as accepted as long as the recipient has not answered. */
  readonly autoAcceptShares: boolean;
  /** How long a dataset stays marked deleted, in ms. */
  readonly retentionMs: number;
  readonly eventStreams: StreamLimits;
  readonly webhooks: WebhookSettings;
  /** There is a mail server. */
  readonly mailsAreSent: boolean;
}

export interface InstallerOptions
  extends Omit<IntakeOptions, 'settings' | 'store' | 'uploadBytes'>,
    Pick<ResumableParts, 'resumable' | 'uploadBytes'>,
    Pick<CreateOptions, 'random'> {
  readonly uploads: IntakeOptions['uploads'] & SelfMetaOptions['uploads'];
  readonly settings: InstallerSettings;
  readonly store: Pick<ObjectStore, 'put' | 'get' | 'head' | 'list' | 'remove'>;
  /** The same without counting what is kept, for uploads, whose reservations count it. */
  readonly uncountedStore: IntakeOptions['store'];
  readonly webhooks: Webhooks & Pick<WebhookDeliveries, 'page' | 'queueTest'>;
  readonly eventMails: EventMailWishes;
  /** Undefined for a store that cannot be held. */
  readonly storeHold: StoreHold | undefined;
  readonly kept: Pick<StoredBytes, 'usage'>;
  readonly queries: DatasetQueries & FileDigests;
  readonly edits: DatasetEdits;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly grants: Grants;
  readonly jobs: Pick<Jobs, 'depths' | 'enqueue'>;
  readonly jobAdmin: JobAdmin;
  readonly reports: DatasetReports;
  readonly datasetEvents: Pick<DatasetEvents, 'newest' | 'oldest' | 'page'>;
  readonly eventMetrics: EventMetrics;
  readonly audit: Pick<AuditLog, 'page'>;
  readonly jobHistory: Pick<JobHistory, 'page'>;
  readonly cancels: Pick<JobCancels, 'ask'>;
  readonly pauses: Pick<Pauses, 'list' | 'set' | 'end'>;
  /** Names of what can be paused, by kind. */
  readonly pausable: Readonly<Record<PauseKind, readonly string[]>>;
  readonly failedInstalls: FailedInstalls;
  readonly problems: Pick<Problems, 'discards'> & OwnerRetries;
  readonly secondChances: SecondChances;
  /** Of the process that answers. */
  readonly history: HistorySource;
  /** Of the process that answers. */
  readonly processSettings: ProcessSettings;
  /** Of the process that answers. */
  readonly logs: RecentLogs;
  /** Control databases of the enabled install targets. */
  readonly sites: readonly Pick<InstallTarget, 'state'>[];
  readonly reconciler: ReconcilerControl;
  readonly pruner: PrunerControl;
  readonly dataTypes: DataTypes;
  /** Absent = install statuses come from the mirror in the cache. */
  readonly installStatus?: InstallStatusSource;
}

/** Throws when a target's `metaValidation` is no JSON Schema. */
export function installerRoutes(options: InstallerOptions): readonly Route[] {
  const targets = new InstallTargets(options.settings.installTargets);
  const details = new DetailsCheck(targets, options.dataTypes);
  const slots = new UploadSlots(options.settings.uploadsPerUser);
  const resumable = new ResumableIntake(options, slots);
  const intake = new UploadIntake({ ...options, store: options.uncountedStore }, slots, resumable.claims);
  const creation = new Creation({ ...options, details, intake });
  const patches = new PatchCheck(details, options.dataTypes);
  return [
    listRoute({ ...options, targets }),
    communityRoute({ ...options, targets }),
    createRoute(creation),
    ...resumableRoutes(resumable, options.settings.maxUploadBytes),
    detailsRoute(options),
    patchRoute({ ...options, patches }),
    reviseRoute({ ...options, patches, intake }),
    deleteRoute(options),
    undeleteRoute({
      ...options,
      retentionMs: options.settings.retentionMs,
      quotaBytes: options.settings.userMaxStorageBytes,
    }),
    retryRoute(options),
    ...eventRoutes(options),
    ...shareRoutes({ ...options, autoAcceptShares: options.settings.autoAcceptShares }),
    shareOffersRoute(options),
    ...webhookRoutes(options, options.settings.webhooks),
    ...notificationRoutes(options, options.settings.mailsAreSent),
    selfMetaRoute({ ...options, ...options.settings }),
    filesRoute(options),
    ...downloadRoutes(options),
    ...folderRoutes(options),
    ...storedDocumentRoutes(options),
    pluginsRoute({ ...options, targets }),
    serviceMetaRoute(options.settings, targets),
    allDatasetsRoute(options),
    datasetReportRoute(options),
    failedImportsRoute(options),
    failedInstallsRoute(options),
    objectListingRoute(options),
    proxyUploadRoute(creation),
    auditRoute(options),
    datasetHistoryRoute(options),
    ...clearFailedRoutes(options),
    purgeDatasetRoute(options),
    jobsReportRoute(options),
    jobRetryRoute(options),
    jobCancelRoute(options),
    ...reconcileRoutes(options),
    ...pruneRoutes(options),
    ...processSettingsRoutes(options),
    laneSizesRoute(options),
    logRoute(options),
    ...pauseRoutes(options),
    ...problemRoutes(options),
    ...problemOrderRoutes(options),
    metricsHistoryRoute(options),
    ...storeHoldRoutes(options),
  ];
}
