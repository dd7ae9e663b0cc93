// Texts of the pages for operators (texts.ts).

import { duration } from './components/format.ts';
import { plural } from './plural.ts';
import { problemTexts } from './texts-problems.ts';

const rounded = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 2 });

/** What an audited request recorded besides its route. */
type Records = Readonly<Record<string, string | number>>;

export const operatorTexts = {
  operate: {
    readOnly: 'You are an observer: you see everything here and change nothing. Ask an operator for changes.',
    elsewhere: 'The pages for operators are not served at this address',
    elsewhereAdvice:
      'The setting containerCore.http.adminListener moves /admin to an address of its own, which a browser does not reach from here. Use the command line on that machine: longshore problems, longshore top, longshore pause.',
    lanes: {
      upload: 'Upload',
      import: 'Import',
      install: 'Install',
      updateMeta: 'Metadata',
      sharing: 'Sharing',
      softDelete: 'Uninstall',
      hardDelete: 'Removal',
      reconciliation: 'Reconciliation',
      report: 'Reports',
      mail: 'Mail',
    },
  },
  ...problemTexts,
  lanes: {
    title: 'Lanes',
    lead: 'What works, what waits, and what is paused. Rates and times are those of the last minute.',
    caption: 'Load of the lanes of the process that answers',
    healths: { healthy: 'Healthy', degraded: 'Degraded', unhealthy: 'Unhealthy' },
    since: (version: string, ms: number) => `Version ${version}, up for ${duration(ms / 1_000)}`,
    none: '–',
    columns: {
      lane: 'Lane',
      busy: 'Busy',
      queued: 'Queued',
      delayed: 'Delayed',
      dead: 'Dead',
      oldest: 'Oldest',
      rate: 'Done per s',
      wait: 'Wait',
      run: 'Run',
      pause: 'Pause',
    },
    load: (lane: string) => `Busy workers of ${lane}`,
    busy: (busy: number, workers: number) => `${busy} of ${workers}`,
    rate: (done: number | undefined, failed: number | undefined) =>
      done === undefined ? '–' : `${rounded(done)}${failed ? `, ${rounded(failed)} failed` : ''}`,
    pause: 'Pause',
    resume: 'Resume',
    pauseIt: (name: string) => `Pause ${name}`,
    resumeIt: (name: string) => `Resume ${name}`,
    paused: 'Paused',
    pausedBy: (by: string, reason: string | undefined) => (reason === undefined ? `by ${by}` : `by ${by}: ${reason}`),
    endsAt: ', ends',
    pausedNow: (name: string) => `${name} is paused`,
    resumed: (name: string) => `${name} goes on`,
    pauseAdvice: {
      lane: 'Running jobs finish. No further job of this lane starts until the pause ends.',
      plugin: 'Running jobs finish. Jobs of this plugin wait until the pause ends.',
      target: 'Running jobs finish. Installs on this target wait until the pause ends.',
    },
    reason: 'Reason',
    reasonHint: 'For other operators. May be empty.',
    until: 'Ends',
    spans: {
      none: 'When somebody resumes it',
      quarter: 'In 15 minutes',
      hour: 'In an hour',
      night: 'In 8 hours',
      day: 'In a day',
    },
    sizes: 'Sizes of a lane',
    sizesAdvice:
      'workerCount is how many jobs run at the same time, inMemoryQueueSize how many are claimed and held. A slider applies at once to the process that answers, until its next reload or restart. Running jobs finish.',
    size: (name: string, running: number) => `${name}, running with ${running}`,
    change:
      'Sizes differ from the configuration file. To keep them, write these lines to it; a reload takes back the others:',
    noChange: 'All sizes are those of the configuration file.',
    parts: { plugin: 'Plugins', target: 'Install targets' },
    noParts: { plugin: 'No plugin is configured.', target: 'No install target is enabled.' },
    online: { yes: 'Works', no: 'Fails', unknown: 'Away' },
    breakerOpen: 'Breaker open: its jobs wait',
    dependencies: 'Dependencies',
    disks: 'Disks',
    free: (folder: string) => `Free space of ${folder}`,
    freeOf: (free: string, size: string) => `${free} of ${size} free`,
    daemons: 'Daemons',
    daemonCount: (all: number, failing: number) =>
      failing === 0 ? `${all}, none has failed` : `${all}, ${failing} with failed runs`,
    daemonColumns: { daemon: 'Daemon', leads: 'Here', done: 'Runs', failed: 'Failed', last: 'Last run' },
    leads: 'Runs here',
    doesNotLead: 'Runs elsewhere, or not yet',
  },
  reload: {
    action: 'Reload the configuration',
    compare: 'Compare',
    differs: (count: number) =>
      count === 0
        ? 'The file says what runs.'
        : `${plural(count, 'setting')} of the file ${count === 1 ? 'differs' : 'differ'} from what runs.`,
    wouldApply: 'A reload would change these now:',
    done: (applied: number, unchanged: number) =>
      `${applied === 0 ? 'No setting that may change while running differs' : `${plural(applied, 'setting')} applied`}, ${unchanged.toLocaleString('en')} unchanged.`,
    changed: (from: string, to: string) => `from ${from} to ${to}`,
    needsRestart: 'These need a restart:',
  },
  reconciler: {
    title: 'Reconciler',
    lead: 'Compares all datasets with the object store, and deletes what the store no longer has. If too much is missing, it brakes and asks.',
    none: 'It has not run in this process yet.',
    started: 'A full run has begun',
    start: 'Start a full run',
    allow: 'Run and delete',
    allowTitle: 'Delete what the object store does not have?',
    allowAdvice: (count: number) =>
      `The last run found ${plural(count, 'entry', 'entries')} of datasets that are missing from the object store. A full run starts, and deletes all that are missing then, from the databases and from all install targets. Make sure that the object store is complete.`,
    running: 'Running',
    ended: 'Ended',
    failed: 'Failed',
    kinds: { full: 'Full run', slim: 'Run of a part' },
    braked: 'Braked, nothing was deleted:',
    counts: (listed: number, reconciled: number, deleted: number, spared: number) =>
      `${plural(listed, 'dataset')} listed, ${reconciled.toLocaleString('en')} to reconcile, ${deleted.toLocaleString('en')} deleted, ${spared.toLocaleString('en')} spared.`,
    absent: 'Missing from the object store; a run that may delete removes them:',
    absentIn: (database: string, count: number) => `${database}: ${plural(count, 'dataset')}`,
    leftOut: (target: string, reason: string) => `Install target ${target} was left out: ${reason}`,
  },
  plots: {
    title: 'Plots',
    lead: 'The main numbers of the process that answers. They are lost when it ends.',
    range: 'Range',
    ranges: { 1: 'Last hour', 6: 'Last 6 hours', 24: 'Last 24 hours' },
    allLanes: 'All lanes',
    none: 'Nothing was sampled yet',
    noneAdvice: 'The first numbers appear 15 seconds after the start.',
    thisProcess: 'This process',
    summary: (now: string, most: string) => `last ${now}, highest ${most}`,
    plots: {
      queued: 'Jobs queued',
      running: 'Jobs running',
      delayed: 'Jobs delayed',
      dead: 'Jobs dead',
      done: 'Jobs done per second',
      failed: 'Failed attempts per second',
      oldest: 'Age of the oldest due job',
      wait: 'Mean wait until the start',
      run: 'Mean time of work',
      'process.cpu': 'Processor time (100 % is one core)',
      'process.memory': 'Memory',
      'process.delay': 'Delay of the event loop (99th percentile)',
      'requests.': 'Requests answered per second',
      'datasets.': 'Datasets by status',
      'disk.': 'Free space on disks',
    },
    happened: 'What happened',
    happenedAdvice: 'The dashed upright lines in the plots, newest first.',
    started: 'The process started',
    by: (what: string, who: string) => `${what} (${who})`,
    happenings: {
      '/admin/rpc/config/reload': (method: string) => (method === 'POST' ? 'Configuration reloaded' : ''),
      '/admin/rpc/log/level': (method: string) => (method === 'POST' ? 'Log level changed' : ''),
      '/admin/pauses/:kind/:name': (method: string, { name }: Records) =>
        `${name} ${method === 'PUT' ? 'paused' : 'resumed'}`,
      '/admin/lanes/:lane/sizes': (_method: string, { lane, ...sizes }: Records) =>
        `${lane}: ${Object.entries(sizes)
          .map(([size, value]) => `${size} ${value}`)
          .join(', ')}`,
      '/admin/rpc/datasets/reconcile': (method: string) =>
        method === 'POST' ? 'Full run of the reconciler ordered' : '',
    },
  },
  audit: {
    short: 'Audit',
    title: 'Audit trail',
    lead: 'Who did what, and who was refused.',
    fields: {
      actor: 'Who',
      dataset: 'Dataset',
      route: 'Route',
      outcome: 'Outcome',
      from: 'From (UTC)',
      to: 'Before (UTC)',
    },
    hints: {
      actor: 'User id or token name',
      dataset: 'Dataset id',
      route: '/datasets/:id',
      from: '2026-01-31',
      to: '2026-01-31T12:00',
    },
    anyOutcome: 'Any outcome',
    show: 'Show',
    clear: 'Remove all filters',
    more: 'Show older entries',
    none: 'Nothing matches',
    noneAdvice: 'Remove a filter. Entries are kept as long as containerCore.audit.retention says.',
    count: (shown: number, hasMore: boolean) =>
      `${plural(shown, 'entry', 'entries')}${hasMore ? ' so far, the newest first' : ''}`,
    columns: { what: 'What', who: 'Who', outcome: 'Outcome', kind: 'Kind', service: 'Service', at: 'When' },
    kinds: { change: 'Change', download: 'Download', 'admin-read': 'Read by an operator', refusal: 'Refusal' },
    records: (records: readonly (readonly [string, string | number])[], count: number) =>
      [...records.map(([name, value]) => `${name} ${value}`), ...(count > 1 ? [`${count} times`] : [])].join(', '),
    actorOf: (kind: string, id: string | undefined) => (id === undefined ? kind : `${kind} ${id}`),
    actors: {
      anonymous: 'Anonymous',
      guest: 'Guest',
      user: 'User',
      operator: 'Operator',
      observer: 'Observer',
      machine: 'Machine',
    },
    outcomes: { done: 'Done', refused: 'Refused', rejected: 'Rejected', failed: 'Failed', cut: 'Cut off' },
  },
  configuration: {
    title: 'Configuration',
    lead: 'The settings of the process that served this page. Others may run with different ones.',
    views: 'Views',
    viewNames: { settings: 'Running settings', file: 'File and log level', log: 'Log' },
    readFrom: (file: string, generation: number) =>
      `From ${file}, ${generation === 1 ? 'not reloaded since the start' : `reloaded ${plural(generation - 1, 'time')}`}, read`,
    search: 'Search',
    searchHint: 'Words in key or value',
    only: 'Which',
    kinds: {
      '': 'All settings',
      live: 'Changed by a reload',
      restart: 'Changed by a restart',
      set: 'Set by an operator',
    },
    count: (shown: number, all: number) =>
      shown === all ? plural(all, 'setting') : `${shown.toLocaleString('en')} of ${plural(all, 'setting')}`,
    columns: { setting: 'Setting', value: 'Value', change: 'Changed by' },
    reloads: 'Reload',
    restart: 'Restart',
    untilReload: 'Set until the next reload',
    none: 'No setting matches',
    noneAdvice: 'Search for other words, or look at all settings.',
    clear: 'Show all settings',
    file: 'Configuration file',
    fileAdvice:
      'A reload reads the file again, checks all of it, takes over what may change while the process runs, and lists what needs a restart. A file with faults changes nothing. Compare shows the same without changing anything. Values of secrets are never shown.',
    level: 'Log level',
    levelAdvice: 'It lasts until the next reload or restart. With debug and trace the log grows fast.',
    levelNow: 'Now:',
    levels: { silent: 'silent', error: 'error', warn: 'warn', info: 'info', debug: 'debug', trace: 'trace' },
    changed: (level: string) => `The log level is ${level}`,
  },
  log: {
    lead: 'The newest log records of the process that answers about one dataset or one request. It keeps about 4 MB of them in memory; the log itself has all.',
    subjects: { dataset: 'Dataset', request: 'Request' },
    hints: { dataset: 'Dataset id', request: 'As messages of failures name it' },
    show: 'Show',
    which: 'Enter a dataset or a request',
    whichAdvice:
      'Failed requests name their id. What plugins printed is in the history of the dataset, also after a restart.',
    count: (shown: number, isCut: boolean) => `${plural(shown, 'record')}${isCut ? ', the newest' : ''}`,
    history: 'History of the dataset',
    since: 'Records are kept since',
    none: 'Nothing is kept about it',
    noneAdvice:
      'Another process may have worked on it, or newer records displaced it. Requests are logged if they change something, are refused or fail.',
    records: 'Log records, the newest first',
  },
} as const;
