// A process that keeps no log records.

import type { RecentLogs } from '../../http/installer/admin/logs.ts';

export const EMPTY_LOGS: RecentLogs = { find: () => ({ records: [], isCut: false, since: undefined }) };
