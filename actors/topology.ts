// The supervision tree behind the front ends, as data: what starts after what, and what depends on what.
//   lease renewer  first to start, last to stop: no job runs without it
//   lanes          upload, import, updateMeta, install, sharing, softDelete, hardDelete, reconciliation
//   event intake   events -> job rows
//   event router   object store changes -> events
//   daemons        reconciler and pruner; like the router, in a single process of the deployment
//   upload sweep   removes what crashed processes left
//   preemption     preempts jobs of a dataset that waits to be deleted
//   queue metrics  how many jobs wait, and how long
//   job cancels    orders of operators to end a running job
//   pauses         what operators have paused; before the lanes

import type { Lane } from '../engine/jobs/lane.ts';
import type { DataTypes } from '../engine/model/data-types.ts';
import type { EventLaneName, LaneName } from '../engine/model/event.ts';
import type { Catalog } from '../engine/ports/catalog.ts';
import type { ChangeQueue, EventLog } from '../engine/ports/event-log.ts';
import type { JobCancels } from '../engine/ports/job-cancels.ts';
import type { ClaimedJob, Jobs, Leases, RecordedOutcome } from '../engine/ports/jobs.ts';
import type { ObjectStore } from '../engine/ports/object-store.ts';
import type { Problems } from '../engine/ports/problems.ts';
import type { ResumableUploads, UploadBytes } from '../engine/ports/resumable-uploads.ts';
import type { DiskRoom } from '../engine/ports/storage-room.ts';
import type { Uploads } from '../engine/ports/uploads.ts';
import type { Child, ChildSpec } from '../engine/runtime/actor.ts';
import type { LiveSetting } from '../engine/runtime/live-setting.ts';
import type { Logger } from '../engine/runtime/log.ts';
import type { Metrics } from '../engine/runtime/metrics.ts';
import type { Random } from '../engine/runtime/retry.ts';
import type { Clock } from '../engine/runtime/time.ts';
import { Timer } from '../engine/runtime/timer.ts';
import type { Daemons } from './daemons/daemons.ts';
import { DaemonLeaders } from './daemons/leadership.ts';
import { sweepResumable, sweepUploads } from './daemons/sweeps.ts';
import type { InstallTargets } from './dataset/site-targets.ts';
import { type LaneChannels, Pump, type PumpOptions, routeEvents, takeEvents } from './events/event-router.ts';
import { Attempts } from './jobs/attempts.ts';
import { Cancellations } from './jobs/cancellations.ts';
import type { Receiver } from './jobs/hand-over.ts';
import type { JobHandler } from './jobs/job-handler.ts';
import { jobLane, type LaneTunings, laneBounds } from './jobs/job-lane.ts';
import { LeaseRenewer, preemption } from './jobs/lease-renewer.ts';
import { queueMetrics } from './jobs/queue-metrics.ts';
import type { Scratch } from './jobs/scratch.ts';
import { HardDeleteLane } from './lanes/hard-delete-lane.ts';
import { ImportLane } from './lanes/import-lane.ts';
import { InstallLane } from './lanes/install-lane.ts';
import { SharingLane } from './lanes/sharing-lane.ts';
import { SoftDeleteLane } from './lanes/soft-delete-lane.ts';
import { UpdateMetaLane } from './lanes/update-meta-lane.ts';
import { UploadLane, type UploadLimits } from './lanes/upload-lane.ts';
import { pausableTargets, pausableTasks, pausableTypes, type WorkPauses } from './pauses/paused-work.ts';
import type { ReceivedFiles } from './plugin-host/received-files.ts';
import type { PluginBreakers } from './plugins/plugin-breakers.ts';
import { roomFirst, withinHost } from './plugins/room-first.ts';
import { ReconciliationLane } from './reconciliation/reconciliation-lane.ts';
import type { TaskRunner } from './tasks/task-map.ts';

/** Lanes of this tree, in no particular order. */
export const RUNNING_LANES = [
  'upload',
  'import',
  'updateMeta',
  'install',
  'sharing',
  'softDelete',
  'hardDelete',
  'reconciliation',
] as const;
type RunningLane = (typeof RUNNING_LANES)[number];

interface TopologyOptions {
  readonly catalog: Catalog;
  readonly uploads: Uploads;
  /** Undefined = nothing is ever discarded. */
  readonly problems?: Pick<Problems, 'discards'>;
  readonly jobs: Jobs;
  readonly leases: Leases;
  readonly store: ObjectStore;
  readonly changes: ChangeQueue;
  readonly events: EventLog;
  readonly targets: InstallTargets;
  readonly tasks: TaskRunner;
  readonly breakers: PluginBreakers;
  /** What operators have paused. Undefined = nothing can be paused. */
  readonly pauses?: WorkPauses & { readonly spec: () => ChildSpec };
  /** Orders to cancel running jobs. Undefined = there are none. */
  readonly cancels?: Pick<JobCancels, 'watch'>;
  /** Undefined = free disk space is not checked. */
  readonly room?: DiskRoom;
  /** Plugins whose host runs in this process, and how many of their scripts it runs at a time. */
  readonly hosted?: { readonly plugins: readonly string[]; readonly scripts: number } | undefined;
  /** Keeps received files for these plugins. */
  readonly received?: ReceivedFiles | undefined;
  readonly types: DataTypes;
  /** Running lanes apply changes of their bounds only. */
  readonly tuning: LiveSetting<LaneTunings>;
  readonly channels: LaneChannels;
  readonly uploadLimits: UploadLimits;
  readonly scratch: Scratch;
  /** Finishes changes of the object store that a crashed process left incomplete. */
  readonly settleStore: (signal: AbortSignal) => Promise<void>;
  /** Recounts stored objects whose count crashed processes left incomplete. Undefined = nothing counts them. */
  readonly sweepKept?: (signal: AbortSignal) => Promise<number>;
  /** Resumable uploads, whose leftovers are swept. Undefined = there are none. */
  readonly resumable?: Pick<ResumableUploads, 'leftovers' | 'forget'>;
  readonly uploadBytes?: Pick<UploadBytes, 'remove'>;
  /** Undefined where only events may create work. */
  readonly daemons?: Pick<Daemons, 'specs'>;
  /** Calls `hear` after each pause in which other processes may have considered this one dead. */
  readonly onGap?: (hear: () => void) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

const SWEEP_MS = 60_000;
/** Lanes whose jobs do not wait for a plugin that is down: they call none, or they hide the dataset before they do. */
const PAST_PLUGINS: readonly LaneName[] = ['upload', 'sharing', 'reconciliation', 'softDelete'];

export function topology(options: TopologyOptions): readonly ChildSpec[] {
  const { clock, log, metrics, breakers } = options;
  const { plugins = [], scripts = 1 } = options.hosted ?? {};
  // Waiting for the process's own host is not waiting for the plugin, so it comes before the breakers and their timers.
  const called = withinHost(breakers.guard(options.tasks), plugins, scripts);
  const attempts = new Attempts(clock);
  const tasks = attempts.recording(options.room ? roomFirst(called, options.room) : called);
  const blocked = options.pauses ? pausableTypes(breakers, options.types, options.pauses.inForce) : breakers;
  const lanes = new Map<RunningLane, Lane<ClaimedJob, RecordedOutcome>>();
  const receivers = new Map<LaneName, Receiver>();
  const holders = RUNNING_LANES.map((name) => ({
    held: () => lanes.get(name)?.held() ?? [],
    isWaiting: (id: number) => lanes.get(name)?.isWaiting(id) ?? false,
    abortJob: (id: number, reason: Error) => lanes.get(name)?.abortJob(id, reason) ?? false,
  }));
  options.tuning.watch((tuning) => {
    for (const [name, lane] of lanes) lane.resize(laneBounds(tuning[name]));
  });
  const renewer = new LeaseRenewer(options.leases, holders, clock, log);
  const cancellations = new Cancellations(holders, log);
  const leads = new DaemonLeaders(options.leases, clock, log);
  options.onGap?.(() => {
    renewer.renewSoon();
    leads.renewSoon();
  });
  const pump = (name: string, consume: PumpOptions['consume'], until?: 'stop'): ChildSpec => ({
    name,
    create: () => new Pump({ name, clock, log, consume, ...(until ? { until } : {}) }),
  });
  const cancelling = (cancels: Pick<JobCancels, 'watch'>): ChildSpec =>
    pump('jobCancels', (signal) => cancellations.listen(cancels, signal), 'stop');
  return [
    // Through the quiet phase too: jobs that run on until the stop keep their leases.
    pump('leaseRenewer', (signal) => renewer.run(signal), 'stop'),
    // Running jobs can be cancelled until the stop.
    ...(options.cancels ? [cancelling(options.cancels)] : []),
    // Before the lanes, which look at the pauses before they claim.
    ...(options.pauses ? [options.pauses.spec()] : []),
    ...laneHandlers({ ...options, tasks }).map((handler): ChildSpec => {
      const name: RunningLane = handler.lane;
      const create = (): Child => {
        const calls = !PAST_PLUGINS.includes(name);
        const own = { tuning: options.tuning.current[name], breakers: calls ? blocked : undefined, away: blocked };
        const lane = jobLane({ ...options, ...own, receivers, cancellations, attempts, handler });
        lanes.set(name, lane);
        return lane;
      };
      return { name, create };
    }),
    pump('eventIntake', (signal) => takeEvents(options.events, options.jobs, eventLanes(), options.channels, signal)),
    pump('eventRouter', leads.whileLeading('eventRouter', metrics, eventRouter(options))),
    ...(options.daemons?.specs(leads) ?? []),
    { name: 'uploadSweep', create: () => uploadSweep(options) },
    { name: 'preemption', create: () => preemption({ ...options, holders }) },
    { name: 'queueMetrics', create: () => queueMetrics(options) },
  ];
}

function eventRouter(options: TopologyOptions): PumpOptions['consume'] {
  const { channels, log, metrics } = options;
  const counter = metrics.counter('event_router_changes_total', 'Object store changes by result.', ['result']);
  const count = (result: string, changes: number): void => counter.inc({ result }, changes);
  return (signal) => routeEvents(options, channels, count, log.child({ actor: 'eventRouter' }), signal);
}

const eventLanes = (): readonly EventLaneName[] => RUNNING_LANES.filter((lane) => lane !== 'upload');

/** One handler per lane. */
export function laneHandlers(
  options: Omit<
    TopologyOptions,
    | 'pauses'
    | 'cancels'
    | 'leases'
    | 'changes'
    | 'events'
    | 'channels'
    | 'settleStore'
    | 'sweepKept'
    | 'daemons'
    | 'onGap'
    | 'metrics'
    | 'breakers'
  > & { readonly pauses?: WorkPauses | undefined },
): readonly JobHandler[] {
  const { types, scratch, tuning, pauses } = options;
  const { updateMeta, install } = tuning.current;
  const onTargets = (lane: LaneName) =>
    pauses ? { ...options, targets: pausableTargets(options.targets, lane, pauses) } : options;
  // These may be claimed while a plugin is paused.
  const uninstalling = (lane: LaneName) =>
    pauses ? { ...onTargets(lane), tasks: pausableTasks(options.tasks, lane, pauses) } : options;
  const handlers: Readonly<Record<LaneName, JobHandler>> = {
    upload: new UploadLane(options, types, options.uploadLimits, scratch),
    import: new ImportLane(options, types, scratch),
    updateMeta: new UpdateMetaLane(onTargets('updateMeta'), types, updateMeta.retry),
    install: new InstallLane(onTargets('install'), types, { data: install.retry, meta: updateMeta.retry }),
    sharing: new SharingLane(onTargets('sharing')),
    softDelete: new SoftDeleteLane(uninstalling('softDelete'), types),
    hardDelete: new HardDeleteLane(uninstalling('hardDelete'), types),
    reconciliation: new ReconciliationLane(options, types),
  };
  return Object.values(handlers);
}

function uploadSweep(options: TopologyOptions): Child {
  return new Timer<number>({
    name: 'uploadSweep',
    clock: options.clock,
    log: options.log,
    metrics: options.metrics,
    random: options.random,
    periodMs: SWEEP_MS,
    firstMs: 0,
    runOnce: async (signal) => {
      await options.settleStore(signal);
      const swept = await sweepUploads(options, options.log, signal);
      await options.sweepKept?.(signal);
      const { resumable, uploadBytes: bytes, clock, log } = options;
      if (resumable && bytes) await sweepResumable({ resumable, bytes, clock, log }, signal);
      return swept;
    },
  });
}
