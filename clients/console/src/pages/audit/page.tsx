// Audit and configuration, for operators: who did what; reload of the configuration, log level.

import { ReadOnly, Tabs } from '../../components/operator.tsx';
import { to, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Configuration } from './configuration.tsx';
import { Trail } from './trail.tsx';

const words = texts.audit;
const VIEWS = { trail: Trail, configuration: Configuration } as const;
type View = keyof typeof VIEWS;

export default function AuditPage() {
  const { parts, query } = useRoute();
  const [first = 'trail'] = parts;
  const view: View = first in VIEWS ? (first as View) : 'trail';
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
          href: to(`audit/${one}`),
          isCurrent: one === view,
        }))}
      />
      {view === 'configuration' && <ReadOnly />}
      <Shown asked={Object.fromEntries(query)} />
    </>
  );
}
