// Reports: those that the person keeps, a new one of a query job, and one with its results. The address says which.

import { report } from '../../api/session.ts';
import { Empty } from '../../components/notices.tsx';
import { useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Reports } from './list.tsx';
import { NewReport } from './new.tsx';
import { Report } from './report.tsx';

const words = texts.reports;

export default function ReportsPage() {
  const {
    parts: [shown = ''],
    query,
  } = useRoute();
  const service = report();
  const queryId = query.get('query') ?? '';
  if (!service)
    return (
      <>
        <h1>{words.title}</h1>
        <Empty icon="report" title={words.absent} advice={words.absentAdvice} />
      </>
    );
  if (shown === '') return <Reports service={service} queryId={queryId} />;
  if (shown === 'new') return <NewReport service={service} queryId={queryId} />;
  return <Report key={shown} service={service} id={shown} />;
}
