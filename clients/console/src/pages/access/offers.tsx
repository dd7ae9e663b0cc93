// Datasets that their owners offer to the caller.

import type { components } from '../../../../typescript/src/installer.ts';
import { useLoad } from '../../api/load.ts';
import { installer, session } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { personName } from '../../components/format.ts';
import { ProblemView } from '../../components/notices.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';

const words = texts.access;
const MOST = 100;

export function Offers() {
  const { value, error, reload } = useLoad('offers', async (signal) => {
    const { data } = await installer.GET('/users/self/share-offers', {
      params: { query: { status: 'open', limit: MOST } },
      signal,
    });
    return data as readonly components['schemas']['ShareOffer'][];
  });
  const answer = async (id: string, recipient: number | undefined, action: 'accept' | 'reject'): Promise<void> => {
    if (recipient === undefined) return;
    try {
      await installer.PUT('/datasets/{id}/shares/{recipient}/receipt', {
        params: { path: { id, recipient } },
        body: { action },
      });
      tellDone(action === 'accept' ? words.accepted : words.rejected);
      reload();
    } catch (thrown) {
      tellProblem(thrown);
    }
  };
  const self = useStore(session)?.self.userId;
  return (
    <section className="card" aria-label={words.offers}>
      <h2>{words.offers}</h2>
      {error !== undefined && <ProblemView error={error} onRetry={reload} />}
      {value?.length === 0 && <p className="hint">{words.offersNone}</p>}
      <ul className="file-list" aria-label={words.offers}>
        {value?.map(({ datasetId, owner, type }) => (
          <li key={datasetId}>
            <div className="what">
              <a href={to(`dataset/${datasetId}`)}>{`${type.category} ${datasetId}`}</a>
              <span className="hint">{words.offeredBy(personName(owner) || texts.shell.userOf(owner.userId))}</span>
            </div>
            <Button aria-label={words.rejectOf(datasetId)} onPress={() => void answer(datasetId, self, 'reject')}>
              {words.reject}
            </Button>
            <Button
              kind="primary"
              aria-label={words.acceptOf(datasetId)}
              onPress={() => void answer(datasetId, self, 'accept')}
            >
              {words.accept}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
