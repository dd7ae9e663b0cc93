// The reports that the person keeps, the newest first, with live statuses.

import { useLoad } from '../../api/load.ts';
import { Button } from '../../components/button.tsx';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { go, to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { StatusBadge } from './badge.tsx';
import { jobsOf, type Listed, type Service, useStatuses } from './jobs.ts';

const words = texts.reports;

const COLUMNS: readonly Column<Listed>[] = [
  {
    key: 'report',
    title: words.listColumns.report,
    cell: ({ reportJobID, queryJobID, userMeta }) => (
      <span className="dataset-name">
        <a href={to(`reports/${reportJobID}`)}>{userMeta?.summary ?? words.untitled(reportJobID)}</a>
        <span className="hint">{words.ofQuery(queryJobID)}</span>
      </span>
    ),
  },
  { key: 'status', title: words.listColumns.status, cell: ({ status }) => <StatusBadge status={status} /> },
];

interface Props {
  readonly service: Service;
  /** Only reports of this query job; all if it is empty. */
  readonly queryId: string;
}

export function Reports({ service, queryId }: Props) {
  const { value, error, isLoading, reload } = useLoad(`reports ${queryId}`, (signal) =>
    jobsOf(service, queryId, signal),
  );
  const statuses = useStatuses(service, value ?? []);
  const rows = (value ?? []).map((job) => ({ ...job, status: statuses[job.reportJobID] ?? job.status }));
  return (
    <>
      <PageHead title={words.title} lead={words.lead}>
        <Button kind="primary" icon="report" onPress={() => go('reports/new', { query: queryId })}>
          {words.newOne}
        </Button>
      </PageHead>
      {queryId !== '' && (
        <div className="chip">
          {words.onlyOf} <code>{queryId}</code>
          <a href={to('reports')}>{words.showAll}</a>
        </div>
      )}
      <div className="bar">
        <span role="status">{value && words.count(value.length)}</span>
        <Button icon="refresh" onPress={reload}>
          {texts.common.refresh}
        </Button>
      </div>
      {error !== undefined && <ProblemView error={error} onRetry={reload} />}
      {!value && isLoading && <Loading />}
      {value?.length === 0 && <Empty icon="report" title={words.none} advice={words.noneAdvice} />}
      {rows.length > 0 && (
        <Table label={words.title} columns={COLUMNS} rows={rows} keyOf={({ reportJobID }) => reportJobID} />
      )}
    </>
  );
}
