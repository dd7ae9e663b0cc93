// What others publish: curated datasets, and those of the community, each with what the caller may do about it.

import { useState } from 'react';
import type { ListingItem } from '../../../../typescript/src/index.ts';
import { useLoad } from '../../api/load.ts';
import { installer, session } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { personName } from '../../components/format.ts';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { replace, to, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { RequestDialog } from './request-dialog.tsx';
import { entryIn, type Named, type Service, useEntries, withdraw } from './requests.ts';

const words = texts.access;
const MOST_SHOWN = 100;

interface Asked {
  readonly datasetId: string;
  readonly name: string;
  readonly action: 'request' | 'withdraw';
}

export function Catalogue({ service }: { readonly service: Service | undefined }) {
  const self = useStore(session)?.self;
  const q = useRoute().query.get('q') ?? '';
  const [asked, setAsked] = useState<Asked>();
  const permissions = useEntries(service);
  const community = useLoad(`community ${q}`, async (signal) => {
    const query = { limit: MOST_SHOWN, ...(q === '' ? {} : { q }) };
    const { data } = await installer.GET('/datasets/community', { params: { query }, signal });
    return data as readonly ListingItem[];
  });
  const curated = (permissions.value ?? []).filter(({ isUserStudy }) => !isUserStudy);
  const studies = (permissions.value ?? []).filter(({ isUserStudy }) => isUserStudy);
  const done = (): void => {
    setAsked(undefined);
    permissions.reload();
  };
  const isGuest = self?.role === 'guest';
  return (
    <>
      {permissions.error !== undefined && <ProblemView error={permissions.error} onRetry={permissions.reload} />}
      {service && (
        <section className="card" aria-label={words.curated}>
          <h2>{words.curated}</h2>
          {permissions.value && curated.length === 0 && <p className="hint">{words.noCurated}</p>}
          <ul className="file-list" aria-label={words.curated}>
            {curated.map((entry) => (
              <li key={entry.datasetId}>
                <div className="what">
                  <strong>{entry.displayName}</strong>
                  <span className="hint">{entry.description}</span>
                </div>
                <Standing entry={entry} name={entry.displayName} canAsk={!isGuest} onAsk={setAsked} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <section className="card" aria-label={words.community}>
        <h2>{words.community}</h2>
        <SearchField q={q} />
        {community.error !== undefined && <ProblemView error={community.error} onRetry={community.reload} />}
        {!community.value && community.isLoading && <Loading />}
        {community.value?.length === 0 && <Empty icon="datasets" title={words.none} advice={words.noneAdvice} />}
        <ul className="file-list" aria-label={words.community}>
          {community.value?.map(({ datasetId, originalId, name, summary, owner, visibility }) => (
            <li key={datasetId}>
              <div className="what">
                <a href={to(`dataset/${datasetId}`)}>{name}</a>
                <span className="hint">{summary}</span>
                <span className="hint">
                  {words.ownedBy(personName(owner) || texts.shell.userOf(owner.userId))} ·{' '}
                  {texts.dataset.visibilities[visibility]}
                </span>
              </div>
              {service && owner.userId !== self?.userId && visibility !== 'public' && (
                <Standing
                  entry={entryIn(studies, originalId ?? datasetId)}
                  datasetId={originalId ?? datasetId}
                  name={name}
                  canAsk={!isGuest}
                  onAsk={setAsked}
                />
              )}
            </li>
          ))}
        </ul>
      </section>
      {service && asked?.action === 'request' && (
        <RequestDialog service={service} dataset={asked} onClose={() => setAsked(undefined)} onDone={done} />
      )}
      {service && asked?.action === 'withdraw' && (
        <Withdraw service={service} asked={asked} onClose={() => setAsked(undefined)} onDone={done} />
      )}
    </>
  );
}

function SearchField({ q }: { readonly q: string }) {
  const [typed, setTyped] = useState(q);
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          replace('access/catalogue', { q: typed.trim() });
        }}
      >
        <TextField
          label={words.search}
          placeholder={words.searchHint}
          type="search"
          value={typed}
          onChange={setTyped}
        />
      </form>
    </search>
  );
}

interface StandingProps {
  readonly entry: Named | undefined;
  readonly datasetId?: string;
  readonly name: string;
  readonly canAsk: boolean;
  readonly onAsk: (asked: Asked) => void;
}

/** How the caller stands to a dataset. */
function Standing({ entry, datasetId = entry?.datasetId ?? '', name, canAsk, onAsk }: StandingProps) {
  const status = entry?.accessRequestStatus ?? 'unrequested';
  if (entry?.type === 'provider')
    return <span className="badge good">{entry.isManager ? words.manager : words.provider}</span>;
  const hasAll = entry?.actionAuthorization.resultsAll === true;
  if (status === 'unrequested' && entry?.restrictionLevel === 'prerelease')
    return <span className="badge">{words.notReleased}</span>;
  return (
    <>
      {status !== 'unrequested' && (
        <span
          className={`badge ${status === 'approved' ? (hasAll ? 'good' : '') : status === 'denied' ? 'bad' : 'busy'}`}
        >
          {status === 'approved' && !hasAll ? words.notInForce : words.statuses[status]}
        </span>
      )}
      {status === 'unrequested' && canAsk && !hasAll && (
        <Button aria-label={words.requestFor(name)} onPress={() => onAsk({ datasetId, name, action: 'request' })}>
          {words.request}
        </Button>
      )}
      {(status === 'requested' || status === 'approved') && canAsk && (
        <Button aria-label={words.withdrawFor(name)} onPress={() => onAsk({ datasetId, name, action: 'withdraw' })}>
          {words.withdraw}
        </Button>
      )}
    </>
  );
}

interface WithdrawProps {
  readonly service: Service;
  readonly asked: Asked;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Withdraw({ service, asked, onClose, onDone }: WithdrawProps) {
  const userId = useStore(session)?.self.userId;
  const go = async (): Promise<void> => {
    try {
      await withdraw(service, `${userId}-${asked.datasetId}`);
      tellDone(words.withdrawn);
    } catch (error) {
      tellProblem(error);
    }
    onDone();
  };
  return (
    <Confirm title={words.withdrawTitle} action={words.withdraw} onClose={onClose} onConfirm={() => void go()}>
      <p>{words.withdrawAdvice}</p>
    </Confirm>
  );
}
