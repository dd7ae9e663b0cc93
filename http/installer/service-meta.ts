// What the service says about itself. GET /service-meta: what a site needs to know before a user logs in or uploads.
// GET /users/self/meta: the caller's storage quota.

import type { Static } from 'typebox';
import { ARCHIVE_EXTENSIONS } from '../../engine/model/data-types.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import { answer, refusals } from '../kernel/pipeline/responses.ts';
import type { Route } from '../kernel/pipeline/route.ts';
import { InstallTargetIdOutput } from './dataset-terms.ts';
import type { InstallTargets } from './install-targets.ts';

export const ServiceMeta = Type.Object({
  buildInfo: Type.Object({ name: Type.String(), version: Type.String(), node: Type.String() }),
  configuration: Type.Object({
    api: Type.Object({
      maxUploadSize: Type.Integer({ format: 'int64' }),
      userMaxStorageSize: Type.Integer({ format: 'int64' }),
    }),
    daemons: Type.Object({
      reconciler: Type.Object({
        enabled: Type.Boolean(),
        fullRunInterval: Type.String(),
        slimRunInterval: Type.String(),
        performDeletes: Type.Boolean(),
      }),
    }),
    installTargets: Type.Array(Type.Object({ id: InstallTargetIdOutput, name: Type.String() })),
  }),
  features: Type.Object({ supportedArchiveTypes: Type.Array(Type.String()) }),
});
export type ServiceMeta = Static<typeof ServiceMeta>;

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

export interface SelfMetaOptions {
  readonly uploads: Pick<Uploads, 'usage'>;
  /** Bytes of raw uploads that one user may keep. */
  readonly userMaxStorageBytes: number;
}

const Bytes = Type.Integer({ minimum: 0, format: 'int64' });
/** In bytes of raw uploads; what is being uploaded counts, what is deleted does not. */
const SelfMeta = Type.Object({ quota: Type.Object({ limit: Bytes, usage: Bytes }) });
type SelfMeta = Static<typeof SelfMeta>;

export function selfMetaRoute({ uploads, userMaxStorageBytes }: SelfMetaOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/users/self/meta',
    access: 'user',
    operationId: 'getSelfMeta',
    summary: 'How much the caller stores, and may store',
    responses: { 200: answer('Quota in bytes', SelfMeta), ...refusals({ 403: 'Guests store nothing' }) },
    handler: async (context) => {
      const usage = await uploads.usage(context.userId, context.signal);
      const meta: SelfMeta = { quota: { limit: userMaxStorageBytes, usage } };
      await context.json(200, meta);
    },
  };
}
