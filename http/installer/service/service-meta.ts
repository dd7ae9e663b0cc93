// GET /service-meta: what sites ask before anybody is logged in.

import { ARCHIVE_EXTENSIONS } from '../../../engine/model/data-types.ts';
import { answer } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { ServiceMeta } from '../schema/service-meta.ts';
import type { InstallTargets } from './install-targets.ts';

export interface ServiceMetaSettings {
  readonly maxUploadBytes: number;
  readonly userMaxStorageBytes: number;
  readonly buildInfo: ServiceMeta['buildInfo'];
  /** As it is at present. */
  readonly reconciler: () => ServiceMeta['configuration']['daemons']['reconciler'];
}

export function serviceMetaRoute(settings: ServiceMetaSettings, targets: InstallTargets): Route {
  const api = { maxUploadSize: settings.maxUploadBytes, userMaxStorageSize: settings.userMaxStorageBytes };
  const installTargets = targets.enabled().map(({ id, name }) => ({ id, name }));
  const features = { supportedArchiveTypes: [...ARCHIVE_EXTENSIONS] };
  const meta = (): ServiceMeta => ({
    buildInfo: settings.buildInfo,
    configuration: { api, daemons: { reconciler: settings.reconciler() }, installTargets },
    features,
  });
  return {
    method: 'GET',
    audit: 'none',
    path: '/service-meta',
    access: 'open',
    operationId: 'getServiceMeta',
    summary: 'Limits, install targets and features of this installation',
    responses: { 200: answer('About this installation', ServiceMeta) },
    handler: (context) => context.json(200, meta()),
  };
}
