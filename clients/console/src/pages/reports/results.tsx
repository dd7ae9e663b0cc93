// The files of a complete report: the beginning of one is shown, all can be downloaded.

import { useState } from 'react';
import { useLoad } from '../../api/load.ts';
import { Button } from '../../components/button.tsx';
import { download } from '../../components/download.ts';
import { bytes } from '../../components/format.ts';
import { Loading, ProblemView } from '../../components/notices.tsx';
import { Preview } from '../../components/preview.tsx';
import { tableStart } from '../../components/table-text.ts';
import { texts } from '../../texts.ts';
import { beginningOf, fileStream, type Job, MOST_SHOWN, type ReportFile, type Service, useFiles } from './jobs.ts';
import { columnsOf } from './options.ts';

const words = texts.reports;
/** More are in the archive. */
const MOST_FILES = 200;

interface Props {
  readonly service: Service;
  readonly job: Job;
}

export function Results({ service, job }: Props) {
  const { value, error, isLoading, reload } = useFiles(service, job);
  const [chosen, setChosen] = useState<string>();
  const { reportJobID: id, blastConfig } = job;
  const isShown = ({ name }: ReportFile): boolean =>
    blastConfig.formatType !== 'seqalign-binary' && !name.endsWith('.zip');
  const shown = value?.find(({ name }) => name === chosen) ?? value?.find(isShown);
  return (
    <>
      <section className="card" aria-label={words.files}>
        <h2>{words.files}</h2>
        {error !== undefined && <ProblemView error={error} onRetry={reload} />}
        {!value && isLoading && <Loading />}
        {value && value.length > MOST_FILES && <p className="hint">{words.notAll(MOST_FILES, value.length)}</p>}
        <ul className="file-list" aria-label={words.files}>
          {value?.slice(0, MOST_FILES).map((file) => (
            <li key={file.name}>
              <div className="what">
                <span>
                  <strong>{file.name}</strong> <span className="hint">{bytes(file.size)}</span>
                </span>
              </div>
              {isShown(file) && value.filter(isShown).length > 1 && (
                <Button
                  aria-label={words.showFile(file.name)}
                  isDisabled={file === shown}
                  onPress={() => setChosen(file.name)}
                >
                  {words.show}
                </Button>
              )}
              <Button
                icon="download"
                iconOnly
                onPress={() => void download({ ...file, open: () => fileStream(service, id, file.name) })}
              >
                {words.download(file.name)}
              </Button>
            </li>
          ))}
        </ul>
      </section>
      {shown && <Beginning key={shown.name} service={service} job={job} file={shown} />}
    </>
  );
}

function Beginning({ service, job, file }: Props & { readonly file: ReportFile }) {
  const { value, error, reload } = useLoad(`beginning ${job.reportJobID} ${file.name}`, (signal) =>
    beginningOf(service, job.reportJobID, file, signal),
  );
  const { name, size } = file;
  return (
    <div className="card">
      <h2>{words.result(name)}</h2>
      {error !== undefined && <ProblemView error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading />}
      {value === '' && <p>{words.nothingFound}</p>}
      {value !== undefined && value !== '' && <Text job={job} name={name} text={value} isPart={size > MOST_SHOWN} />}
    </div>
  );
}

interface TextProps {
  readonly job: Job;
  readonly name: string;
  readonly text: string;
  readonly isPart: boolean;
}

function Text({ job: { blastConfig }, name, text, isPart }: TextProps) {
  const names = columnsOf(blastConfig);
  if (names.length > 0) {
    const { rows, isCut } = tableStart(text, isPart);
    return (
      <>
        {isCut && <p className="hint">{words.firstRows(rows.length)}</p>}
        <Preview label={words.result(name)} rows={rows} names={names} />
      </>
    );
  }
  return (
    <>
      {isPart && <p className="hint">{words.firstBytes(bytes(MOST_SHOWN))}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard */}
      <section className="report-text" aria-label={words.result(name)} tabIndex={0}>
        <pre>{text}</pre>
      </section>
    </>
  );
}
