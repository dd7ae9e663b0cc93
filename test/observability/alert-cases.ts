// For every alert a time series with which it fires and one with which it does not, in the notation of promtool: a value
// a minute, `0+2x10` = 0, 2, 4 .. 20. What does not fire stands just below the bound, or recovers just in time.

export interface Series {
  readonly [series: string]: string;
}

export interface AlertCase {
  readonly alert: string;
  readonly severity: 'critical' | 'warning' | 'info';
  readonly fires: {
    readonly series: Series;
    readonly at: string;
    /** Beside `alertname` and `severity`. */
    readonly labels: Readonly<Record<string, string>>;
    readonly summary: string;
  };
  readonly quiet: { readonly series: Series; readonly at: string };
  /** Another reason not to fire. */
  readonly quietToo?: AlertCase['quiet'];
}

const A = { instance: 'a:8080', job: 'longshore' };
const at = (name: string, labels: Readonly<Record<string, string>> = {}): string =>
  `${name}{${Object.entries({ ...labels, ...A })
    .map(([label, value]) => `${label}="${value}"`)
    .join()}}`;
const one = (name: string, labels: Readonly<Record<string, string>>, values: string): Series => ({
  [at(name, labels)]: values,
});

const up = (values: string): Series => one('up', {}, values);
const started = (values: string): Series => one('process_start_time_seconds', {}, values);
const answers = (dependency: string, values: string): Series => one('longshore_dependency_up', { dependency }, values);
const oldest = (values: string): Series => one('longshore_jobs_oldest_seconds', { lane: 'install' }, values);
const done = (values: string): Series => one('longshore_lane_jobs_total', { lane: 'install', outcome: 'done' }, values);
const paused = (kind: string, name: string, values: string): Series => one('longshore_paused', { kind, name }, values);
const jobs = (state: string, values: string): Series => one('longshore_jobs', { lane: 'import', state }, values);
const idleWaits = (jobs: { readonly all: string; readonly upToOneSecond: string }): Series => ({
  ...one('longshore_lane_idle_wait_seconds_count', { lane: 'install' }, jobs.all),
  ...one('longshore_lane_idle_wait_seconds_bucket', { lane: 'install', le: '1' }, jobs.upToOneSecond),
});
const dead = (failure: string, values: string): Series =>
  one('longshore_lane_dead_total', { lane: 'import', failure }, values);
const breaker = (values: string): Series => one('longshore_plugin_breaker_open', { plugin: 'biom' }, values);
const calls = (outcome: string, values: string): Series =>
  one('longshore_plugin_calls_total', { plugin: 'biom', call: 'import', outcome }, values);
const braked = (values: string): Series => one('longshore_reconciler_braked', {}, values);
const runs = (result: string, values: string): Series =>
  one('longshore_daemon_runs_total', { daemon: 'pruner', result }, values);
const leads = (values: string): Series => one('longshore_daemon_leader', { daemon: 'reconciler' }, values);
const answered = (status: string, values: string): Series =>
  one('longshore_http_requests_total', { front_end: 'installer', route: '/datasets', method: 'GET', status }, values);
const delay = (values: string): Series => one('nodejs_eventloop_lag_p99_seconds', {}, values);
const waiting = (values: string): Series => one('longshore_worker_tasks_waiting', { kind: 'shared' }, values);
const restarts = (values: string): Series => one('longshore_supervisor_restarts_total', { child: 'install' }, values);
const lag = (partition: string, values: string): Series =>
  one('longshore_event_log_lag', { channel: 'import-triggers', partition }, values);
const mails = (state: string, values: string): Series => one('longshore_access_mails', { state }, values);
const auditRows = (values: string): Series => one('longshore_audit_rows_total', { kept: 'log' }, values);
const disk = (free: string): Series => ({
  ...one('longshore_disk_free_bytes', { folder: '/data/objects' }, free),
  ...one('longshore_disk_size_bytes', { folder: '/data/objects' }, '1000x30'),
});

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'LongshoreDown',
    severity: 'critical',
    fires: { series: up('1 0x5'), at: '3m', labels: A, summary: 'Longshore on a:8080 does not respond.' },
    quiet: { series: up('1 0 1x5'), at: '3m' },
  },
  {
    alert: 'LongshoreRestarting',
    severity: 'warning',
    fires: {
      series: started('1 2 3 4 5 5x5'),
      at: '8m',
      labels: A,
      summary: 'Longshore on a:8080 was started 4 times within an hour.',
    },
    quiet: { series: started('1 2 3 4 4x5'), at: '8m' },
  },
  {
    alert: 'LongshoreDependencyDown',
    severity: 'critical',
    fires: {
      series: answers('object-store', '1 0x5'),
      at: '3m',
      labels: { dependency: 'object-store', ...A },
      summary: 'object-store does not respond to Longshore on a:8080; the service that depends on it fails.',
    },
    quiet: { series: answers('object-store', '1 0 1x5'), at: '3m' },
  },
  {
    alert: 'LongshoreDependencyDown',
    severity: 'warning',
    fires: {
      series: answers('target SiteA', '1 0x9'),
      at: '7m',
      labels: { dependency: 'target SiteA', ...A },
      summary: 'target SiteA does not respond to Longshore on a:8080; the work that needs it waits.',
    },
    quiet: { series: answers('target SiteA', '1 0x4 1x5'), at: '7m' },
  },
  {
    alert: 'LongshoreStuckLane',
    severity: 'critical',
    fires: {
      series: {
        ...oldest('0+60x40'),
        ...done('7x40'),
        ...paused('lane', 'import', '1x40'),
        ...paused('plugin', 'biom', '0x40'),
      },
      at: '30m',
      labels: { lane: 'install' },
      summary: 'Lane install finishes nothing: its oldest job has waited for 30m 0s.',
    },
    // As old, but one job ended ten minutes ago.
    quiet: { series: { ...oldest('0+60x40'), ...done('7x20 8x20') }, at: '30m' },
    quietToo: { series: { ...oldest('0+60x40'), ...done('7x40'), ...paused('lane', 'install', '1x40') }, at: '30m' },
  },
  {
    alert: 'LongshorePaused',
    severity: 'info',
    fires: {
      series: paused('target', 'AlphaDB', '1x1500'),
      at: '1445m',
      labels: { kind: 'target', name: 'AlphaDB' },
      summary: 'target AlphaDB has been paused for a day; its work waits.',
    },
    quiet: { series: paused('target', 'AlphaDB', '1x700 0 1x800'), at: '1445m' },
  },
  {
    alert: 'LongshoreLaneBehind',
    severity: 'warning',
    fires: {
      series: { ...oldest('1900x40'), ...done('0+5x40'), ...paused('plugin', 'biom', '0x40') },
      at: '20m',
      labels: { lane: 'install' },
      summary: 'Lane install does not keep up: its oldest job has waited for 31m 40s.',
    },
    quiet: { series: { ...oldest('1700x40'), ...done('0+5x40') }, at: '20m' },
    quietToo: { series: { ...oldest('1900x40'), ...done('0+5x40'), ...paused('plugin', 'biom', '1x40') }, at: '20m' },
  },
  {
    alert: 'LongshoreIdleWait',
    severity: 'warning',
    fires: {
      series: idleWaits({ all: '0+10x20', upToOneSecond: '0+9x20' }),
      at: '18m',
      labels: { lane: 'install' },
      summary: 'Jobs of lane install waited for more than a second although a worker was free.',
    },
    quiet: { series: idleWaits({ all: '0+10x20', upToOneSecond: '0+10x20' }), at: '18m' },
  },
  {
    alert: 'LongshoreDeadLetters',
    severity: 'warning',
    fires: {
      series: { ...jobs('dead', '0 2x5'), ...jobs('queued', '0x6') },
      at: '4m',
      labels: { lane: 'import', state: 'dead' },
      summary: '2 jobs of lane import failed permanently.',
    },
    quiet: { series: { ...jobs('dead', '0x6'), ...jobs('delayed', '9x6') }, at: '4m' },
  },
  {
    alert: 'LongshoreJobDefects',
    severity: 'warning',
    fires: {
      series: dead('defect', '0x5 1x10'),
      at: '8m',
      labels: { lane: 'import' },
      summary: 'Jobs of lane import died of a fault of Longshore itself.',
    },
    quiet: { series: { ...dead('rejected', '0x5 3x10'), ...dead('defect', '1x15') }, at: '8m' },
  },
  {
    alert: 'LongshorePluginAway',
    severity: 'warning',
    fires: {
      series: breaker('0 1x15'),
      at: '12m',
      labels: { plugin: 'biom' },
      summary: 'Plugin biom does not respond; its jobs wait.',
    },
    quiet: { series: breaker('0 1x5 0 1x9'), at: '12m' },
  },
  {
    alert: 'LongshorePluginFailing',
    severity: 'warning',
    fires: {
      series: { ...calls('server-error', '0+3x40'), ...calls('success', '0+1x40') },
      at: '30m',
      labels: { plugin: 'biom' },
      summary: '75% of the calls of plugin biom end with an error of its own.',
    },
    // That most of what users send is invalid is no fault of the plugin.
    quiet: { series: { ...calls('invalid', '0+9x40'), ...calls('script-error', '0+1x40') }, at: '30m' },
  },
  {
    alert: 'LongshoreReconcilerBrake',
    severity: 'critical',
    fires: {
      series: braked('0 1x5'),
      at: '2m',
      labels: {},
      summary: 'The reconciler found so many datasets missing from the object store that it deletes nothing.',
    },
    quiet: { series: braked('1 0x5'), at: '2m' },
  },
  {
    alert: 'LongshoreDaemonFailing',
    severity: 'warning',
    fires: {
      series: { ...runs('failed', '0+1x60'), ...runs('done', '4x60') },
      at: '50m',
      labels: { daemon: 'pruner' },
      summary: 'No run of daemon pruner has succeeded for an hour.',
    },
    quiet: { series: { ...runs('failed', '0+1x60'), ...runs('done', '4x40 5x20') }, at: '50m' },
  },
  {
    alert: 'LongshoreDaemonLeaderless',
    severity: 'warning',
    fires: {
      series: leads('1 0x9'),
      at: '7m',
      labels: { daemon: 'reconciler' },
      summary: 'No process runs daemon reconciler.',
    },
    quiet: {
      series: {
        ...leads('1 0x9'),
        'longshore_daemon_leader{daemon="reconciler",instance="b:8080"}': '0 1x9',
        'longshore_daemon_leader{daemon="pruner",instance="b:8080"}': '0x10',
      },
      at: '7m',
    },
  },
  {
    alert: 'LongshoreHttpErrors',
    severity: 'critical',
    fires: {
      series: { ...answered('500', '0+1x30'), ...answered('200', '0+9x30') },
      at: '15m',
      labels: { front_end: 'installer' },
      summary: '10% of the requests to the installer front end fail.',
    },
    quiet: {
      series: { ...answered('503', '0+5x30'), ...answered('404', '0+5x30'), ...answered('200', '0+9x30') },
      at: '15m',
    },
  },
  {
    alert: 'LongshoreEventLoopDelay',
    severity: 'warning',
    fires: {
      series: delay('0.01 0.25x9'),
      at: '7m',
      labels: A,
      summary: 'Something blocks the main thread of Longshore on a:8080: p99 250ms.',
    },
    quiet: { series: delay('0.01 0.25x3 0.09 0.25x4'), at: '7m' },
  },
  {
    alert: 'LongshoreWorkersBusy',
    severity: 'warning',
    fires: {
      series: waiting('0 3x20'),
      at: '17m',
      labels: { instance: 'a:8080' },
      summary: 'Tasks wait for worker threads on a:8080 all the time.',
    },
    quiet: { series: waiting('0 3x9 0 3x9'), at: '17m' },
  },
  {
    alert: 'LongshoreChildRestarts',
    severity: 'warning',
    fires: {
      series: restarts('0x3 0+1x15'),
      at: '12m',
      labels: { child: 'install', instance: 'a:8080' },
      summary: 'install of Longshore on a:8080 crashes again and again.',
    },
    quiet: { series: restarts('0x3 2x15'), at: '12m' },
  },
  {
    alert: 'LongshoreEventLogLag',
    severity: 'warning',
    fires: {
      series: { ...lag('0', '6000x20'), ...lag('1', '5000x20') },
      at: '17m',
      labels: { channel: 'import-triggers' },
      summary: '11000 events of import-triggers are not taken yet.',
    },
    quiet: { series: { ...lag('0', '6000x20'), ...lag('1', '6000x5 0x15') }, at: '17m' },
  },
  {
    alert: 'LongshoreDeadMails',
    severity: 'warning',
    fires: {
      series: mails('dead', '0 1x5'),
      at: '3m',
      labels: {},
      summary: '1 mails of dataset access could not be sent.',
    },
    quiet: { series: { ...mails('dead', '0x6'), ...mails('waiting', '50x6') }, at: '3m' },
  },
  {
    alert: 'LongshoreAuditNotInTable',
    severity: 'warning',
    fires: {
      series: auditRows('0x3 15x20'),
      at: '5m',
      labels: { instance: A.instance },
      summary: 'Rows of the audit trail of a:8080 are in its log alone.',
    },
    quiet: { series: auditRows('7x20'), at: '18m' },
  },
  {
    alert: 'LongshoreDiskNearlyFull',
    severity: 'warning',
    fires: {
      series: disk('500 80x9'),
      at: '7m',
      labels: { folder: '/data/objects', ...A },
      summary: '8% are free on the disk of /data/objects on a:8080.',
    },
    quiet: { series: disk('500 80x3 110x6'), at: '7m' },
  },
  {
    alert: 'LongshoreDiskNearlyFull',
    severity: 'critical',
    fires: {
      series: disk('500 20x4'),
      at: '3m',
      labels: { folder: '/data/objects', ...A },
      summary: '2% are free on the disk of /data/objects on a:8080.',
    },
    quiet: { series: disk('500 40x4'), at: '3m' },
  },
];
