// What the configuration says about lanes: their limits and channels, and what can be paused.

import type { LaneChannels } from '../../actors/events/event-router.ts';
import type { UploadLimits } from '../../actors/lanes/upload-lane.ts';
import type { PausableNames } from '../../actors/pauses/pauses-in-force.ts';
import { REPORT_LANE } from '../../actors/report/report-lane.ts';
import { WEBHOOK_LANE } from '../../actors/webhooks/webhook-lane.ts';
import type { Configuration } from '../../config/configuration.ts';
import { LANES } from '../../engine/model/event.ts';
import type { LiveSettings } from './live-settings.ts';

export const pausableNames = ({ installer, report }: Configuration): PausableNames => ({
  lane: [...LANES, ...(report ? [REPORT_LANE] : []), ...(installer.restService.webhooks.enabled ? [WEBHOOK_LANE] : [])],
  plugin: Object.keys(installer.plugins),
  target: installer.installTargets.map(({ targetId }) => targetId),
});

export function uploadLimits({ restService }: Configuration['installer'], { lanes }: LiveSettings): UploadLimits {
  const { maxUploadSize, userMaxStorageSize, urlUploads } = restService;
  const url = {
    maxUploadBytes: maxUploadSize,
    quotaBytes: userMaxStorageSize,
    get atOnce() {
      return Math.ceil(lanes.current.upload.workerCount / 2);
    },
  };
  const { maxEntries, maxNamesSize: maxNameBytes, maxDurationMs: maxMs } = restService.archives;
  const archives = { maxEntries, maxNameBytes, maxMs };
  return { maxTotalBytes: userMaxStorageSize, archives, ...(urlUploads.enabled ? { url } : {}) };
}

type Lanes = Configuration['installer']['lanes'];

export function laneChannels({ upload: _fedByJobRows, ...lanes }: Lanes): LaneChannels {
  const channel = (lane: Lanes['import']): { channel: string; key: string } => ({
    channel: lane.eventChannel,
    key: lane.eventKey,
  });
  return {
    softDelete: channel(lanes.softDelete),
    import: channel(lanes.import),
    updateMeta: channel(lanes.updateMeta),
    install: channel(lanes.install),
    sharing: channel(lanes.sharing),
    reconciliation: channel(lanes.reconciliation),
    hardDelete: channel(lanes.hardDelete),
  };
}
