// The routes of the dataset access service, and what they depend on.

import { type HealthOptions, healthRoute } from '../kernel/pipeline/ops.ts';
import type { Route, RouteParameter } from '../kernel/pipeline/route.ts';
import { type EndUserCreateOptions, endUserCreateRoute } from './end-user-create.ts';
import { type ApprovalsOptions, approvalsRoute, type EndUsersOptions, endUserRoutes } from './end-users.ts';
import { type HistoryOptions, historyRoute } from './history.ts';
import { type PermissionsOptions, permissionRoutes } from './permissions.ts';
import { type ProvidersOptions, providerRoutes } from './providers.ts';
import { type StaffOptions, staffRoutes } from './staff.ts';

export interface AccessOptions
  extends StaffOptions,
    ProvidersOptions,
    EndUsersOptions,
    Omit<EndUserCreateOptions, 'endUsers' | 'catalogue'>,
    Omit<PermissionsOptions, 'catalogue'>,
    HistoryOptions,
    ApprovalsOptions,
    HealthOptions {
  readonly catalogue: ProvidersOptions['catalogue'] & PermissionsOptions['catalogue'];
}

const AUTH_KEY: Readonly<Record<string, RouteParameter>> = {
  Auth_Key: {
    description: 'The token, with or without `Bearer`; `Auth-Key` and `Authorization` also work',
    schema: { type: 'string' },
  },
};

export const accessRoutes = (options: AccessOptions): readonly Route[] =>
  everyRoute(options).map((route) =>
    route.access === 'open' || route.access === 'admin'
      ? route
      : { ...route, headers: { ...AUTH_KEY, ...route.headers } },
  );

const everyRoute = (options: AccessOptions): readonly Route[] => [
  ...staffRoutes(options),
  ...providerRoutes(options),
  ...endUserRoutes(options),
  endUserCreateRoute(options),
  ...permissionRoutes(options),
  historyRoute(options),
  approvalsRoute(options),
  healthRoute(options),
];
