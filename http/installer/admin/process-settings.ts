// POST /admin/rpc/config/reload: the process that answers reloads its configuration. GET /admin/rpc/log/level shows its log
// level, POST changes it until the next reload.

import type { Static } from 'typebox';
import { LOG_LEVELS, type LogLevel } from '../../../engine/model/log-level.ts';
import type { ProcessSettings, SettingFault } from '../../../engine/ports/process-control.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { type HttpError, invalidInput } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

const Value = (description: string) => Type.Union([Type.String(), Type.Number()], { description });
const SettingPath = Type.String({ description: 'Key path in the configuration file' });

const Reloaded = Type.Named('ReloadReport', {
  applied: Type.Array(
    Type.Object({ path: SettingPath, from: Value("What ran, in the file's words"), to: Value('What runs now') }),
    { description: 'Settings that were applied' },
  ),
  needsRestart: Type.Array(Type.Object({ path: SettingPath }), {
    description: 'Settings that differ from the running ones and need a restart; secrets are never shown',
  }),
  unchanged: Type.Integer({ minimum: 0, description: 'Number of unchanged settings' }),
});

const Level = Type.Enum([...LOG_LEVELS], { title: 'LogLevel' });
const LevelNow = Type.Named('LogLevelNow', { level: Level });
type LevelNow = Static<typeof LevelNow>;
const LevelChanged = Type.Named('LogLevelChanged', { from: Level, to: Level });
type LevelChanged = Static<typeof LevelChanged>;

interface ProcessSettingsOptions {
  readonly processSettings: ProcessSettings;
}

export function processSettingsRoutes({ processSettings }: ProcessSettingsOptions): readonly Route[] {
  return [
    {
      method: 'POST',
      servedWhenFull: true,
      path: '/admin/rpc/config/reload',
      access: 'admin',
      operationId: 'reloadConfiguration',
      summary:
        'Has the process that answers read its configuration file anew: it takes over what may change while it runs, and tells what needs a restart',
      responses: {
        200: answer('What became of each setting that differs', Reloaded),
        ...refusals({
          ...ADMIN_REFUSALS,
          422: 'The file has faults, reported by key path as at startup; nothing was changed',
          503: 'The process ends',
        }),
      },
      handler: async (context) => {
        const outcome = await processSettings.reload(context.signal);
        if (outcome.kind === 'faulty') throw faulty(outcome.faults);
        await context.json(200, outcome.report);
      },
    },
    {
      method: 'GET',
      servedWhenFull: true,
      path: '/admin/rpc/log/level',
      access: 'admin',
      operationId: 'showLogLevel',
      summary: 'Shows the log level of the responding process',
      responses: { 200: answer('The level', LevelNow), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const now: LevelNow = { level: processSettings.logLevel };
        await context.json(200, now);
      },
    },
    {
      method: 'POST',
      servedWhenFull: true,
      path: '/admin/rpc/log/level',
      access: 'admin',
      operationId: 'setLogLevel',
      summary: 'Sets the log level of the responding process until its configuration is reloaded or it stops',
      query: {
        level: {
          description: 'Default: the next of info, debug, trace; then info again',
          schema: { type: 'string', enum: [...LOG_LEVELS] },
        },
      },
      responses: {
        200: answer('The level before, and now', LevelChanged),
        ...refusals({ ...ADMIN_REFUSALS, 400: 'No such level' }),
      },
      handler: async (context) => {
        // The query was validated against these levels.
        const level = context.query.level as LogLevel | undefined;
        const changed: LevelChanged = processSettings.setLogLevel(level);
        await context.json(200, changed);
      },
    },
  ];
}

function faulty(faults: readonly SettingFault[]): HttpError {
  const byKey: Record<string, string[]> = {};
  for (const { path, text } of faults) if (path !== '') byKey[path] = [...(byKey[path] ?? []), text];
  const general = faults.filter(({ path }) => path === '').map(({ text }) => text);
  return invalidInput('the configuration file has faults; nothing was changed', { general, byKey });
}
