// The files of a dataset: sizes, digests, download, and the first rows of tables.

import { useState } from 'react';
import type { DatasetDetails } from '../../../../typescript/src/index.ts';
import { useLoad } from '../../api/load.ts';
import { access, session } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { UnreadableZip } from '../../api/zip.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { type Download, download } from '../../components/download.ts';
import { bytes } from '../../components/format.ts';
import { Loading, ProblemView } from '../../components/notices.tsx';
import { Preview } from '../../components/preview.tsx';
import { isTabular, tableStart } from '../../components/table-text.ts';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { type Archive, archivedFile, beginningOf, looseFile, wholeArchive } from './archives.ts';

const words = texts.dataset;

/** More are in the archive. */
const MOST_SHOWN = 200;

interface Previewed {
  readonly archive: Archive;
  readonly name: string;
}

export function Files({ dataset }: { readonly dataset: DatasetDetails }) {
  const { datasetId, name, files } = dataset;
  const mayRead = useMayRead(dataset);
  const [previewed, setPreviewed] = useState<Previewed>();
  const archives = (['upload', 'install'] as const).filter((one) => (files[one]?.zipSize ?? -1) >= 0);
  const loose = {
    documents: files.documents,
    properties: files.datasetProperties,
  } as const;
  return (
    <section className="card" aria-label={words.files}>
      <h2>{words.files}</h2>
      {archives.length === 0 && <p className="hint">{words.noFiles}</p>}
      {mayRead === false && (
        <p className="line">
          <span className="hint">{words.filesByRequest}</span>
          <a href={to('access/catalogue', { q: name })}>{words.requestAccess}</a>
        </p>
      )}
      {archives.map((archive) => {
        const { zipSize = 0, contents = [] } = files[archive] ?? {};
        return (
          <div key={archive} className="file-group">
            <div className="bar">
              <h3>{words.kinds[archive]}</h3>
              {mayRead && (
                <Button
                  icon="download"
                  onPress={() =>
                    void download({
                      name: `${datasetId}-${archive}.zip`,
                      size: zipSize,
                      open: () => wholeArchive(datasetId, archive),
                    })
                  }
                >
                  {words.downloadAll(bytes(zipSize))}
                </Button>
              )}
            </div>
            <ul className="file-list" aria-label={words.kinds[archive]}>
              {contents.slice(0, MOST_SHOWN).map(({ fileName, fileSize, sha256 }) => (
                <File
                  key={fileName}
                  {...{ fileName, fileSize, sha256 }}
                  onPreview={
                    mayRead && isTabular(fileName) ? () => setPreviewed({ archive, name: fileName }) : undefined
                  }
                  open={mayRead ? () => archivedFile(datasetId, archive, zipSize, fileName) : undefined}
                />
              ))}
            </ul>
          </div>
        );
      })}
      {(['documents', 'properties'] as const)
        .filter((kind) => loose[kind].length > 0)
        .map((kind) => (
          <div key={kind} className="file-group">
            <h3>{words.kinds[kind]}</h3>
            <ul className="file-list" aria-label={words.kinds[kind]}>
              {loose[kind].map(({ fileName, fileSize }) => (
                <File
                  key={fileName}
                  {...{ fileName, fileSize }}
                  open={mayRead || kind === 'documents' ? () => looseFile(datasetId, kind, fileName) : undefined}
                />
              ))}
            </ul>
          </div>
        ))}
      {previewed && (
        <PreviewDialog
          {...previewed}
          datasetId={datasetId}
          zipSize={files[previewed.archive]?.zipSize ?? 0}
          onClose={() => setPreviewed(undefined)}
        />
      )}
    </section>
  );
}

/** As the access service says; undefined until it has said so. Where it cannot say, the server refuses what is not allowed. */
function useMayRead({ datasetId, owner, visibility }: DatasetDetails): boolean | undefined {
  const self = useStore(session)?.self.userId;
  const isSure = owner.userId === self || visibility === 'public';
  const { value, error } = useLoad(`may read ${datasetId} ${isSure}`, async (signal) => {
    const service = access();
    if (isSure || !service) return true;
    const { data } = await service.GET('/permissions/{study}', { params: { path: { study: datasetId } }, signal });
    return data?.actionAuthorization.resultsAll ?? true;
  });
  return isSure || error !== undefined || value;
}

interface FileProps {
  readonly fileName: string;
  readonly fileSize: number;
  readonly sha256?: string | undefined;
  readonly onPreview?: (() => void) | undefined;
  /** Absent if the person may not read it. */
  readonly open: Download['open'] | undefined;
}

function File({ fileName, fileSize, sha256, onPreview, open }: FileProps) {
  return (
    <li>
      <div className="what">
        <span>
          <strong>{fileName}</strong> <span className="hint">{bytes(fileSize)}</span>
        </span>
        {sha256 !== undefined && (
          <span className="hint digest" title={sha256}>
            {words.digest} <code>{sha256}</code>
          </span>
        )}
      </div>
      {onPreview && (
        <Button onPress={onPreview} aria-label={words.previewOf(fileName)}>
          {words.preview}
        </Button>
      )}
      {open && (
        <Button
          icon="download"
          iconOnly
          onPress={() => void download({ name: nameOf(fileName), size: fileSize, sha256, open })}
        >
          {words.download(fileName)}
        </Button>
      )}
    </li>
  );
}

const nameOf = (path: string): string => path.split('/').at(-1) ?? path;

interface PreviewProps extends Previewed {
  readonly datasetId: string;
  readonly zipSize: number;
  readonly onClose: () => void;
}

function PreviewDialog({ archive, name, datasetId, zipSize, onClose }: PreviewProps) {
  const { value, error, reload } = useLoad(`${datasetId} ${archive} ${name}`, async () => {
    const { text, isPart } = await beginningOf(datasetId, archive, zipSize, name);
    return tableStart(text, isPart);
  });
  const rows = value?.rows ?? [];
  return (
    <Dialog
      title={value ? words.previewTitle(name, rows.length, value.isCut) : words.previewOf(name)}
      onClose={onClose}
    >
      {error instanceof UnreadableZip ? (
        <p>{texts.download.unreadable}</p>
      ) : (
        error !== undefined && <ProblemView error={error} onRetry={reload} />
      )}
      {value === undefined && error === undefined && <Loading />}
      {value && rows.length === 0 && <p>{words.previewEmpty}</p>}
      {rows.length > 0 && <Preview label={words.previewOf(name)} rows={rows} />}
      <div className="actions">
        <Button onPress={onClose}>{texts.common.close}</Button>
      </div>
    </Dialog>
  );
}
