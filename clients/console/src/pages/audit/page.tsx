// The audit trail, for operators: who did what.

import { useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Trail } from './trail.tsx';

const words = texts.audit;

export default function AuditPage() {
  const { query } = useRoute();
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{words.title}</h1>
          <p>{words.lead}</p>
        </div>
      </div>
      <Trail asked={Object.fromEntries(query)} />
    </>
  );
}
