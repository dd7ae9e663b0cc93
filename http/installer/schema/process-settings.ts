// POST /admin/rpc/config/reload and /admin/rpc/log/level.

import type { Static } from 'typebox';
import { LOG_LEVELS } from '../../../engine/model/log-level.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';

const Value = (description: string) => Type.Union([Type.String(), Type.Number()], { description });
const SettingPath = Type.String({ description: 'Key path in the configuration file' });

export const Reloaded = Type.Object({
  applied: Type.Array(
    Type.Object({ path: SettingPath, from: Value("What ran, in the file's words"), to: Value('What runs now') }),
    { description: 'What was taken over' },
  ),
  needsRestart: Type.Array(Type.Object({ path: SettingPath }), {
    description: 'What differs from what runs and waits for a restart; a value that is a secret never shows',
  }),
  unchanged: Type.Integer({ minimum: 0, description: 'How many settings are as they were' }),
});

const Level = Type.Enum([...LOG_LEVELS]);
export const LevelChanged = Type.Object({ from: Level, to: Level });
export type LevelChanged = Static<typeof LevelChanged>;
