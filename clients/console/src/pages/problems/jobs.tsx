// The jobs of the lanes: running ones can be cancelled, delayed and dead ones retried.

import { useState } from 'react';
import { usePolled } from '../../api/polling.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Empty, Loading } from '../../components/notices.tsx';
import { AdminProblem, useMayChange } from '../../components/operator.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import type { Asked } from './asked.ts';
import { CancelDialog } from './cancel.tsx';
import { each } from './order.tsx';

const words = texts.problems;
/** Each load is a row of the audit trail. */
const EVERY_MS = 10_000;
/** The API's own. */
const MOST = 1_000;

export type Job = Schemas['JobReportEntry'];

export function Jobs({ asked: { lane, state } }: { readonly asked: Asked }) {
  const mayChange = useMayChange();
  const query = { ...(lane ? { lane } : {}), ...(state ? { state } : {}), limit: MOST };
  const { value, error, isLoading, reload } = usePolled(
    JSON.stringify(query),
    async (signal) => {
      const { data } = await installer.GET('/admin/reports/jobs', { params: { query: query as object }, signal });
      return data as Schemas['JobReport'];
    },
    EVERY_MS,
  );
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [cancelled, setCancelled] = useState<readonly Job[]>();
  if (error !== undefined) return <AdminProblem error={error} onRetry={reload} />;
  if (!value) return isLoading ? <Loading /> : null;
  const jobs = value.results;
  const picked = jobs.filter(({ id }) => selected.has(String(id)));
  const chosen = picked.length > 0 ? picked : jobs;
  const running = chosen.filter((job) => job.state === 'running');
  const stopped = chosen.filter((job) => job.state === 'delayed' || job.state === 'dead');
  const retry = async (): Promise<void> => {
    const { done, error: fault } = await each(stopped, ({ id }) =>
      installer.POST('/admin/rpc/jobs/{id}/retry', { params: { path: { id } } }),
    );
    if (done > 0) tellDone(words.jobsRetried(done));
    if (fault !== undefined) tellProblem(fault);
    setSelected(new Set());
    reload();
  };
  return (
    <>
      <div className="bar">
        <span role="status">
          {picked.length > 0 ? words.jobsSelected(picked.length) : words.jobCount(jobs.length, value.meta.total)}
        </span>
        <Button
          kind="primary"
          icon="refresh"
          isDisabled={!mayChange || stopped.length === 0}
          onPress={() => void retry()}
        >
          {words.retryJobs(stopped.length)}
        </Button>
        <Button icon="close" isDisabled={!mayChange || running.length === 0} onPress={() => setCancelled(running)}>
          {words.cancelJobs(running.length)}
        </Button>
      </div>
      {jobs.length === 0 ? (
        <Empty icon="done" title={words.noJobs} advice={words.noJobsAdvice} />
      ) : (
        <Table
          label={words.viewNames.jobs}
          columns={COLUMNS}
          rows={jobs}
          keyOf={({ id }) => String(id)}
          selection={{ selected, nameOf: ({ id }) => words.job(id), onChange: setSelected }}
        />
      )}
      {cancelled && (
        <CancelDialog
          jobs={cancelled}
          onClose={() => setCancelled(undefined)}
          onDone={() => {
            setSelected(new Set());
            reload();
          }}
        />
      )}
    </>
  );
}

const KINDS = { queued: '', running: 'busy', delayed: 'busy', dead: 'bad' } as const;

const COLUMNS: readonly Column<Job>[] = [
  {
    key: 'job',
    title: words.columns.job,
    cell: ({ id, datasetId, message }) => (
      <span className="two-lines">
        <a href={to(`problems/dataset/${datasetId}`)}>{datasetId}</a>
        <span className="hint" title={message}>
          {message ?? words.job(id)}
        </span>
      </span>
    ),
  },
  {
    key: 'state',
    title: words.columns.state,
    cell: ({ state }) => <span className={`badge ${KINDS[state]}`}>{words.jobStates[state]}</span>,
  },
  { key: 'lane', title: words.lane, wideOnly: true, cell: ({ lane }) => texts.operate.lanes[lane] },
  { key: 'attempts', title: words.columns.attempts, align: 'right', wideOnly: true, cell: ({ attempts }) => attempts },
  {
    key: 'next',
    title: words.columns.next,
    wideOnly: true,
    cell: ({ state, runAt }) => (state === 'delayed' && runAt !== undefined ? <Time at={runAt} /> : ''),
  },
  { key: 'created', title: words.columns.created, wideOnly: true, cell: ({ created }) => <Time at={created} /> },
];
