// The routes of the report job service (docs/contract/report.md). The caller passes in everything that they depend on.

import { type HealthOptions, healthRoute } from '../kernel/pipeline/ops.ts';
import type { Route } from '../kernel/pipeline/route.ts';
import { createRoute } from './create.ts';
import { type FilesParts, fileRoutes } from './files.ts';
import { type JobsParts, jobRoutes, statusesRoute } from './jobs.ts';
import { type LinkGuestParts, linkGuestRoute } from './link-guest.ts';
import { type MaintenanceParts, maintenanceRoutes } from './maintenance.ts';

export interface ReportParts extends HealthOptions, JobsParts, FilesParts, Omit<LinkGuestParts, 'collections'> {
  readonly expiry: MaintenanceParts['expiry'];
}

export const reportRoutes = (parts: ReportParts): readonly Route[] => [
  createRoute(parts),
  ...jobRoutes(parts),
  ...fileRoutes(parts),
  statusesRoute(parts),
  linkGuestRoute(parts),
  ...maintenanceRoutes(parts),
  healthRoute(parts),
];
