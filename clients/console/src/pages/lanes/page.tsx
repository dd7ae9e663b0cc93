// Lanes, for operators: live load, pauses, sizes; plugins, targets, dependencies, disks, daemons; the reconciler.

import { Loading } from '../../components/notices.tsx';
import { AdminProblem, ReadOnly } from '../../components/operator.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { texts } from '../../texts.ts';
import { LaneTable } from './lane-table.tsx';
import { Daemons, Dependencies, Disks, Parts } from './parts.tsx';
import { type Reading, useReading } from './reading.ts';
import { Reconciler } from './reconciler.tsx';
import { Sizes } from './sizes.tsx';

const words = texts.lanes;

export default function LanesPage() {
  const { value, error, isLoading, reload } = useReading();
  return (
    <>
      <PageHead title={words.title} lead={words.lead}>
        {value && <Health reading={value} />}
      </PageHead>
      <ReadOnly />
      {error !== undefined && <AdminProblem error={error} onRetry={reload} />}
      {!value && isLoading && <Loading />}
      {value && (
        <>
          <LaneTable reading={value} onChange={reload} />
          <Sizes reading={value} onChange={reload} />
          <div className="columns">
            <Parts reading={value} kind="plugin" onChange={reload} />
            <Parts reading={value} kind="target" onChange={reload} />
            <Dependencies reading={value} />
            <Disks reading={value} />
          </div>
          <Reconciler />
          <Daemons reading={value} />
        </>
      )}
    </>
  );
}

const KINDS = { healthy: 'good', degraded: 'busy', unhealthy: 'bad' } as const;

function Health({ reading: { health } }: { readonly reading: Reading }) {
  const { status, version, info } = health;
  return (
    <p className="line">
      <span className={`badge ${KINDS[status]}`}>{words.healths[status]}</span>
      <span className="hint">{words.since(version, info.uptimeMillis)}</span>
    </p>
  );
}
