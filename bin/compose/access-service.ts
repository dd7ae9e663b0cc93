// The configured dataset access service: its front end, and its background actors.

import { copyAccessEvents } from '../../actors/daemons/access-events.ts';
import { accessMailMetrics, sendAccessMails } from '../../actors/daemons/access-mail.ts';
import { approveWaited } from '../../actors/daemons/site-grants.ts';
import type { Configuration } from '../../config/configuration.ts';
import { PostgresAccessEvents } from '../../engine/adapters/access/access-events.ts';
import { PostgresAccessCatalogue } from '../../engine/adapters/access/catalogue.ts';
import { PostgresEndUsers } from '../../engine/adapters/access/end-users.ts';
import { PostgresAccessHistory } from '../../engine/adapters/access/history.ts';
import { PostgresAccessInvitations } from '../../engine/adapters/access/invitations.ts';
import { PostgresOutbox } from '../../engine/adapters/access/outbox.ts';
import { PostgresAccessProviders } from '../../engine/adapters/access/providers.ts';
import { PostgresAccessRoles, PostgresAccessStaff } from '../../engine/adapters/access/staff.ts';
import { PostgresEnteredDatasets, PostgresGrants } from '../../engine/adapters/access/user-datasets.ts';
import { WaitingApprovals } from '../../engine/adapters/access/waiting-approvals.ts';
import { PostgresAddressBook } from '../../engine/adapters/datasets/accounts-postgres.ts';
import { PostgresUserDatasets, PostgresUserStudies } from '../../engine/adapters/datasets/user-studies-postgres.ts';
import { PostgresIdempotencyKeys } from '../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import type { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { StudyIds } from '../../http/access/asked-dataset.ts';
import { redeeming } from '../../http/access/people.ts';
import { accessRoutes } from '../../http/access/routes.ts';
import type { AuthSettings } from '../../http/kernel/auth/authenticate.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import { VERSION } from '../cli/version.ts';
import type { MailDelivery } from './access-mail.ts';
import { type FrontEndParts, frontEnd, threadsHere } from './front-end.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Core } from './open-core.ts';
import { roomCheck } from './watch-dependencies.ts';
import { consoleOrigins } from './web-console.ts';

interface AccessParts extends FrontEndParts {
  /** Undefined: there is no way to deliver, and mails wait. */
  readonly delivery: MailDelivery | undefined;
  /** Its setting is defined where the service is configured. */
  readonly live: Pick<LiveSettings, 'approvalMs'>;
}

interface AccessService {
  /** In start order. */
  readonly children: readonly ChildSpec[];
  /** Its dependencies, besides the cache database. */
  readonly watched: readonly HealthCheck[];
  url(): string;
}

/** Undefined when it is not configured. */
export async function accessService(
  configuration: Configuration,
  core: Pick<Core, 'db' | 'accounts' | 'datasetEvents'>,
  db: Postgres | undefined,
  auth: AuthSettings,
  parts: AccessParts,
): Promise<AccessService | undefined> {
  const { access, containerCore } = configuration;
  const periodMs = parts.live.approvalMs;
  if (!access || !periodMs || !db) return undefined;
  const { clock, log, metrics, delivery } = parts;

  const endUsers = new PostgresEndUsers(db);
  const invitations = new PostgresAccessInvitations(db);
  const providers = new PostgresAccessProviders(db);
  const catalogue = new PostgresAccessCatalogue(db);
  if (!delivery) log.warn('no mail server is configured: dataset access mails wait');
  const optional: readonly HealthCheck[] = delivery?.isServer
    ? [{ name: 'smtp', vital: false, probe: (until) => delivery.mailer.probe(until) }]
    : [];
  const counts = accessMailMetrics(metrics);
  const userDatasets = new PostgresUserDatasets(core.db);
  const entered = new PostgresEnteredDatasets(db);
  const approvals = new WaitingApprovals(endUsers, { userDatasets, entered }, log);
  const front = await frontEnd(
    containerCore,
    {
      name: 'access',
      host: containerCore.http.bindHost,
      port: containerCore.ports.access,
      auth: {
        ...auth,
        remember: redeeming(auth, invitations, clock, log.child({ actor: 'access' })),
      },
      origins: consoleOrigins(containerCore),
      // Its own routes include /health.
      checks: [],
      databases: [db, core.db],
      keys: new PostgresIdempotencyKeys(db),
      routes: accessRoutes({
        roles: new PostgresAccessRoles(db),
        staff: new PostgresAccessStaff(db),
        providers,
        catalogue,
        endUsers,
        invitations,
        history: new PostgresAccessHistory(db),
        approvals,
        addresses: new PostgresAddressBook(core.db),
        userStudies: new PostgresUserStudies(core.db),
        userDatasets,
        entered,
        grants: new PostgresGrants(db),
        accounts: core.accounts,
        clock,
        listAll: access.permissions.listAll,
        studyIds: new StudyIds(access.userStudyIdPrefix),
        dependencies: [
          { name: 'access-db', probe: (until) => db.probe(until) },
          { name: 'account-db', probe: (until) => core.db.probe(until) },
          ...optional,
          ...(parts.room ? [roomCheck(parts.room)] : []),
        ],
        threads: threadsHere,
        version: VERSION,
      }),
    },
    parts,
  );
  const mails: readonly ChildSpec[] = delivery
    ? [
        {
          name: 'accessMail',
          create: () =>
            sendAccessMails({
              ...delivery,
              outbox: new PostgresOutbox(db),
              catalogue,
              providers,
              accounts: core.accounts,
              site: {
                siteUrl: access.siteUrl,
                registrationPath: access.registrationPath,
                applicationPath: access.applicationPath,
                supportEmail: access.supportEmail,
              },
              counts,
              clock,
              log,
              metrics,
              random: Math.random,
            }),
        },
      ]
    : [];
  const { enabled } = access.autoApproval;
  const approval: ChildSpec = {
    name: 'accessApproval',
    create: () => approveWaited({ approvals, periodMs, clock, log, metrics }),
  };
  const events: ChildSpec = {
    name: 'accessEvents',
    create: () =>
      copyAccessEvents({
        accessEvents: new PostgresAccessEvents(db),
        datasetEvents: core.datasetEvents,
        ...{ clock, log, metrics },
      }),
  };
  const watched = [{ name: 'access-db', vital: true, probe: (until: AbortSignal) => db.probe(until) }, ...optional];
  return {
    children: [...mails, ...(enabled ? [approval] : []), events, front.spec],
    watched,
    url: () => front.url(),
  };
}
