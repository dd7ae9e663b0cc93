// Configuration, for operators: what the process that answers runs with; its file, reload and log level; the log of a dataset or
// a request.

import { ReadOnly, Tabs } from '../../components/operator.tsx';
import { to, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { ConfigurationFile } from './file.tsx';
import { Log } from './log.tsx';
import { Settings } from './settings.tsx';

const words = texts.configuration;
const VIEWS = { settings: Settings, file: ConfigurationFile, log: Log } as const;
type View = keyof typeof VIEWS;

export default function ConfigurationPage() {
  const { parts, query } = useRoute();
  const [first = 'settings'] = parts;
  const view: View = first in VIEWS ? (first as View) : 'settings';
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
          href: to(`configuration/${one}`),
          isCurrent: one === view,
        }))}
      />
      {view === 'file' && <ReadOnly />}
      <Shown asked={Object.fromEntries(query)} />
    </>
  );
}
