// What the service says about itself. GET /service-meta: what a site needs to know before a user logs in or uploads.
// GET /users/self/meta: the caller's storage quota.

import type { Static } from 'typebox';
import { ARCHIVE_EXTENSIONS, type DataType, type DataTypes } from '../../engine/model/data-types.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { DatasetTypeOutput, InstallTargetIdOutput, InstallTargetIds } from './dataset-terms.ts';
import type { InstallTargetSettings, InstallTargets } from './install-targets.ts';
import { CreateDetails, InstallTargetId } from './metadata/create-details.ts';
import { demandedOf } from './metadata/details-rules.ts';
import { askedTarget } from './paging.ts';

export const ServiceMeta = Type.Named('ServiceMeta', {
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
    installTargets: Type.Array(
      Type.Object({
        id: InstallTargetIdOutput,
        name: Type.String(),
        requiredFields: Type.Optional(
          Type.Array(Type.String(), {
            description:
              'Fields that datasets for this target must have, such as datasetCharacteristics.studyType; absent = only those that every dataset must have',
          }),
        ),
      }),
    ),
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
  const installTargets = targets.enabled().map((target) => {
    const requiredFields = requiredFieldsOf(target);
    return { id: target.id, name: target.name, ...(requiredFields.length > 0 ? { requiredFields } : {}) };
  });
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

/** By its category, and by the first level of its own schema. */
function requiredFieldsOf({ category, metaValidation }: InstallTargetSettings): string[] {
  const { required } = (metaValidation ?? {}) as { readonly required?: unknown };
  const own = (Array.isArray(required) ? required : []).filter((name) => OPTIONAL_FIELDS.has(name));
  return [...new Set([...demandedOf(category), ...own])];
}

/** Of those that clients may leave out, the ones that are stored only if they are given. */
const OPTIONAL_FIELDS: ReadonlySet<unknown> = new Set(Object.keys(CreateDetails.properties))
  .difference(new Set<string>(CreateDetails.required))
  .difference(new Set(['dependencies', 'daysForApproval', 'visibility']));

export interface SelfMetaOptions {
  readonly uploads: Pick<Uploads, 'usage'>;
  /** Bytes of raw uploads that one user may keep. */
  readonly userMaxStorageBytes: number;
}

const Bytes = Type.Integer({ minimum: 0, format: 'int64' });
/** In bytes of raw uploads; what is being uploaded counts, what is deleted does not. */
const SelfMeta = Type.Named('SelfMeta', { quota: Type.Object({ limit: Bytes, usage: Bytes }) });
type SelfMeta = Static<typeof SelfMeta>;

export function selfMetaRoute({ uploads, userMaxStorageBytes }: SelfMetaOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/users/self/meta',
    access: 'user',
    operationId: 'getSelfMeta',
    summary: "Shows the caller's storage usage and quota",
    responses: { 200: answer('Quota in bytes', SelfMeta), ...refusals({ 403: 'Guests store nothing' }) },
    handler: async (context) => {
      const usage = await uploads.usage(context.userId, context.signal);
      const meta: SelfMeta = { quota: { limit: userMaxStorageBytes, usage } };
      await context.json(200, meta);
    },
  };
}

// GET /plugins: the registered plugins and their data types.

// GET /plugins (docs/contract/installer.md#plugins).

const PluginOutput = Type.Named('Plugin', {
  pluginName: Type.String(),
  dataTypes: Type.Array(
    Type.Object({
      ...DatasetTypeOutput.properties,
      maxFileSize: Type.Integer({ minimum: 0, format: 'int64' }),
      usesDataProperties: Type.Boolean(),
      allowedFileExtensions: Type.Array(Type.String()),
    }),
  ),
  /** Absent = usable on any project. */
  installTargets: Type.Optional(InstallTargetIds),
});
type PluginOutput = Static<typeof PluginOutput>;

const Plugins = Type.Array(PluginOutput);

/**
 * One entry per plugin. If the types of a plugin are restricted to different projects, it has one entry per set of projects,
 * whose `installTargets` apply to each type of the entry.
 * @param target only types that apply to it
 * @param maxUploadBytes caps every type's file size
 */
export function pluginsView(
  dataTypes: DataTypes,
  target: TargetId | undefined,
  maxUploadBytes: number,
): readonly PluginOutput[] {
  const entries = new Map<string, PluginOutput>();
  for (const type of dataTypes.all()) {
    if (target !== undefined && !dataTypes.appliesTo(type, target)) continue;
    const key = JSON.stringify([type.plugin, [...type.projectIds].sort()]);
    const entry = entries.get(key) ?? newEntry(type);
    entry.dataTypes.push(dataTypeView(type, maxUploadBytes));
    entries.set(key, entry);
  }
  return [...entries.values()];
}

function newEntry(type: DataType): PluginOutput {
  const restricted = type.projectIds.length > 0 ? { installTargets: [...type.projectIds] } : {};
  return { pluginName: type.plugin, dataTypes: [], ...restricted };
}

function dataTypeView(type: DataType, maxUploadBytes: number): PluginOutput['dataTypes'][number] {
  return {
    name: type.name,
    version: type.version,
    category: type.category,
    maxFileSize: Math.min(type.maxFileSize, maxUploadBytes),
    usesDataProperties: type.usesDataProperties,
    allowedFileExtensions: [...type.allowedFileExtensions],
  };
}

interface PluginsOptions {
  readonly dataTypes: DataTypes;
  readonly targets: InstallTargets;
  readonly settings: { readonly maxUploadBytes: number };
}

const TARGET = 'install-target';

export function pluginsRoute({ dataTypes, targets, settings }: PluginsOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/plugins',
    access: 'user-or-guest',
    operationId: 'listPlugins',
    summary: 'Lists plugins and their data types',
    query: {
      [TARGET]: { description: 'Only types usable with this install target', schema: { ...InstallTargetId } },
    },
    responses: { 200: answer('Plugins', Plugins), ...refusals({ 400: 'No such install target' }) },
    handler: async (context) => {
      const target = askedTarget(targets, TARGET, context.query[TARGET]);
      await context.json(200, pluginsView(dataTypes, target, settings.maxUploadBytes));
    },
  };
}
