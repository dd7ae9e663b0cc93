// The audit trail, for operators: who did what.

import { PageHead } from '../../components/page-head.tsx';
import { useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Trail } from './trail.tsx';

const words = texts.audit;

export default function AuditPage() {
  const { query } = useRoute();
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <Trail asked={Object.fromEntries(query)} />
    </>
  );
}
