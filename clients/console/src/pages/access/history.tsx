// What was decided about requests, the newest first.

import { useState } from 'react';
import type { components } from '../../../../typescript/src/access.ts';
import { useLoad } from '../../api/load.ts';
import { Button } from '../../components/button.tsx';
import { personName } from '../../components/format.ts';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts.ts';
import { nameIn, type Service, useEntries } from './requests.ts';

const words = texts.access;
const columns = words.historyColumns;
const PAGE = 100;

export function History({ service }: { readonly service: Service }) {
  const [wanted, setWanted] = useState(PAGE);
  const { value, error, isLoading, reload } = useLoad(`history ${wanted}`, async (signal) => {
    const rows: components['schemas']['HistoryPage']['results'] = [];
    // One more than is shown says that there are more.
    for (let isLast = false; !isLast && rows.length <= wanted; ) {
      const { data } = await service.GET('/history', {
        params: { query: { limit: PAGE, offset: rows.length } },
        signal,
      });
      const { results } = data as components['schemas']['HistoryPage'];
      rows.push(...results);
      isLast = results.length < PAGE;
    }
    return { shown: rows.slice(0, wanted), hasMore: rows.length > wanted };
  });
  const entries = useEntries(service).value;
  if (error !== undefined) return <ProblemView error={error} onRetry={reload} />;
  if (!value) return isLoading ? <Loading /> : null;
  if (value.shown.length === 0)
    return <Empty icon="access" title={words.historyNone} advice={words.historyNoneAdvice} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard
    <section className="card history" aria-label={words.tabs.history} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {Object.values(columns).map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {value.shown.map(({ cause, row }) => (
            <tr key={`${cause.timestamp} ${cause.action} ${row.endUserID} ${row.datasetPresenterID}`}>
              <td>
                <Time at={utc(cause.timestamp)} />
              </td>
              <td>{personName(cause.user)}</td>
              <td>{personName(row.user)}</td>
              <td>{nameIn(entries, row.datasetPresenterID)}</td>
              <td>{cause.action === 'DELETE' ? words.removedRequest : words.historyStatuses[row.approvalStatus]}</td>
              <td>{row.denialReason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {value.hasMore && <Button onPress={() => setWanted(wanted + PAGE)}>{texts.datasets.more}</Button>}
    </section>
  );
}

/** The service gives times without a zone, in UTC. */
const utc = (time: string): string => (/(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`);
