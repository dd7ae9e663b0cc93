// GET /plugins: the registered plugins and their data types.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { askedTarget } from '../listings/asked-target.ts';
import { InstallTargetId } from '../schema/details.ts';
import { Plugins } from '../schema/plugin.ts';
import { pluginsView } from '../views/plugins.ts';
import type { InstallTargets } from './install-targets.ts';

export interface PluginsOptions {
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
