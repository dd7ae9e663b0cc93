// One data type, limits and tuning of the lanes in tests.

import { DataTypes } from '../../engine/model/data-types.ts';
import { LiveSetting } from '../../engine/runtime/live-setting.ts';
import { PLASMO, TOXO } from './dataset-samples.ts';

/** Bytes of one upload and of one of its files; entries. */
export const LIMITS = {
  maxTotalBytes: 1_000_000,
  archives: { maxEntries: 100 },
  url: { maxUploadBytes: 200_000, quotaBytes: 500_000, atOnce: 1 },
};
const MAX_FILE_BYTES = 100_000;
const RETRY = { attempts: 12, baseMs: 1_000, maxMs: 600_000 };
export const TUNING = { inMemoryQueueSize: 4, workerCount: 2, retry: RETRY };
/** The same for every lane. */
export const TUNINGS = new LiveSetting({
  softDelete: TUNING,
  upload: TUNING,
  import: TUNING,
  updateMeta: TUNING,
  install: TUNING,
  sharing: TUNING,
  reconciliation: TUNING,
  hardDelete: TUNING,
});

export const TYPES = new DataTypes(
  [
    {
      name: 'genelist',
      version: '1.0',
      category: 'Gene List',
      plugin: 'genes',
      typeChangesEnabled: false,
      maxFileSize: MAX_FILE_BYTES,
      allowedFileExtensions: ['.txt'],
      usesDataProperties: true,
      projectIds: [],
    },
  ],
  [
    { id: PLASMO, dataTypes: 'any' },
    { id: TOXO, dataTypes: 'any' },
  ],
);
