// Problems, for operators: what failed by cause, and one by one; jobs of the lanes; the life of one dataset. The view and the
// filters are in the address.

import { ReadOnly, Views } from '../../components/operator.tsx';
import { useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Causes } from './causes.tsx';
import { Filters } from './filters.tsx';
import { DatasetHistory } from './history.tsx';
import { Jobs } from './jobs.tsx';
import { ProblemList } from './list.tsx';

const VIEWS = [
  ['causes', Causes],
  ['list', ProblemList],
  ['jobs', Jobs],
] as const;

export default function ProblemsPage() {
  const [first, dataset] = useRoute().parts;
  if (first === 'dataset' && dataset !== undefined) return <DatasetHistory id={dataset} />;
  return (
    <Views page="problems" words={texts.problems} views={VIEWS}>
      {(view, asked) => (
        <>
          <ReadOnly />
          <Filters view={view} asked={asked} />
        </>
      )}
    </Views>
  );
}
