// Configuration, for operators: what the process that answers runs with; its file, reload and log level; the log of a dataset or
// a request.

import { ReadOnly, Views } from '../../components/operator.tsx';
import { texts } from '../../texts.ts';
import { ConfigurationFile } from './file.tsx';
import { Log } from './log.tsx';
import { Settings } from './settings.tsx';

const VIEWS = [
  ['settings', Settings],
  ['file', ConfigurationFile],
  ['log', Log],
] as const;

export default function ConfigurationPage() {
  return (
    <Views page="configuration" words={texts.configuration} views={VIEWS}>
      {(view) => view === 'file' && <ReadOnly />}
    </Views>
  );
}
