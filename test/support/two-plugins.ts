// Two plugins with one type each, and a job table whose datasets are named for their type: `genes-1`, `reads-2`. Each has an owner
// of its own.

import { DataTypes } from '../../engine/model/data-types.ts';
import type { JobRequest } from '../../engine/ports/jobs.ts';
import { FakeJobs, JobTable } from '../fakes/fake-jobs.ts';
import { LeaseTable } from '../fakes/fake-leases.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';

const never = new AbortController().signal;

export const TWO_PLUGINS = new DataTypes(
  ['genes', 'reads'].map((plugin) => ({
    name: plugin,
    version: '1.0',
    category: plugin,
    plugin,
    typeChangesEnabled: false,
    maxFileSize: 1_000,
    allowedFileExtensions: [],
    usesDataProperties: false,
    projectIds: [],
  })),
  [],
);

export const pluginOf = (dataset: string): string => dataset.replace(/-.*/, '');

const ownerOf = (dataset: string): string =>
  String(dataset.startsWith('genes') ? 1_000 + Number(dataset.slice(6)) : 2_000 + Number(dataset.slice(6)));

export function twoPluginJobs() {
  const clock = new VirtualClock();
  const table = new JobTable(clock, new LeaseTable(clock), (dataset) => `${pluginOf(dataset)}:1.0`);
  const jobs = new FakeJobs(table, 1);
  const enqueue = async (lane: 'import' | 'install' | 'sharing', ...datasets: string[]): Promise<void> => {
    const request = { lane, eventId: 1, source: 'api' } as const;
    await jobs.enqueue(
      datasets.map((dataset) => ({ ...request, dataset, owner: ownerOf(dataset) }) as JobRequest),
      never,
    );
    await clock.settle();
  };
  /** `dataset state attempts`, oldest first. */
  const rows = () => table.rows.map(({ dataset, state, attempts }) => `${dataset} ${state} ${attempts}`);
  return { clock, table, jobs, enqueue, rows };
}

/** `genes-1` to `genes-{count}`. */
export const named = (plugin: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${plugin}-${at + 1}`);
