// Problems, for operators: what failed by cause, and one by one; jobs of the lanes; the life of one dataset. The view and the
// filters are in the address.

import { ReadOnly, Tabs } from '../../components/operator.tsx';
import { to, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Causes } from './causes.tsx';
import { Filters } from './filters.tsx';
import { DatasetHistory } from './history.tsx';
import { Jobs } from './jobs.tsx';
import { ProblemList } from './list.tsx';

const words = texts.problems;
const VIEWS = { causes: Causes, list: ProblemList, jobs: Jobs } as const;
type View = keyof typeof VIEWS;

export default function ProblemsPage() {
  const { parts, query } = useRoute();
  const [first = 'causes', dataset] = parts;
  if (first === 'dataset' && dataset !== undefined) return <DatasetHistory id={dataset} />;
  const view: View = first in VIEWS ? (first as View) : 'causes';
  const asked = Object.fromEntries(query);
  const Shown = VIEWS[view];
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{words.title}</h1>
          <p>{words.lead}</p>
        </div>
      </div>
      <Tabs
        label={words.views}
        tabs={(Object.keys(VIEWS) as View[]).map((one) => ({
          title: words.viewNames[one],
          href: to(`problems/${one}`),
          isCurrent: one === view,
        }))}
      />
      <ReadOnly />
      <Filters view={view} asked={asked} />
      <Shown asked={asked} />
    </>
  );
}
