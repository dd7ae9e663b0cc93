// Beside the life and the files: facts, shares, revisions, related datasets.

import type { DatasetDetails } from '../../../../typescript/src/index.ts';
import { Button } from '../../components/button.tsx';
import { personName, typeName } from '../../components/format.ts';
import { Time } from '../../components/time.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { offer } from './changes.tsx';

const words = texts.dataset;

export function Facts({ dataset }: { readonly dataset: DatasetDetails }) {
  const { type, owner, visibility, created, origin, projectName, programName, datasetId, sourceUrl } = dataset;
  const facts = [
    ['type', `${type.category} (${typeName(type)})`],
    ['owner', personName(owner) || texts.shell.userOf(owner.userId)],
    ['visibility', words.visibilities[visibility]],
    ['created', <Time key="created" at={created} />],
    ['origin', origin],
    ['project', projectName],
    ['program', programName],
    ['sourceUrl', sourceUrl],
    ['id', <code key="id">{datasetId}</code>],
  ] as const;
  return (
    <section className="card">
      <dl className="facts">
        {facts
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{words.facts[name]}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

interface SharesProps {
  readonly dataset: DatasetDetails;
  readonly onChange: () => void;
}

/** For the owner. */
export function Shares({ dataset: { datasetId, shares = [] }, onChange }: SharesProps) {
  const offered = shares.filter(({ status }) => status === 'grant');
  const revoke = async (user: number, name: string): Promise<void> => {
    try {
      await offer(datasetId, user, 'revoke');
      tellDone(words.revoked(name));
      onChange();
    } catch (error) {
      tellProblem(error);
    }
  };
  return (
    <section className="card" aria-label={words.shares}>
      <h2>{words.shares}</h2>
      {offered.length === 0 && <p className="hint">{words.noShares}</p>}
      <ul className="file-list">
        {offered.map(({ recipient }) => {
          const name = personName(recipient) || texts.shell.userOf(recipient.userId);
          return (
            <li key={recipient.userId}>
              <span className="what">{name}</span>
              <Button icon="close" iconOnly onPress={() => void revoke(recipient.userId, name)}>
                {words.revoke(name)}
              </Button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

export function Revisions({ dataset: { revisionHistory, datasetId } }: { readonly dataset: DatasetDetails }) {
  const { revisions } = revisionHistory;
  if (revisions.length < 2) return null;
  return (
    <section className="card" aria-label={words.revisions}>
      <h2>{words.revisions}</h2>
      <ol className="timeline">
        {revisions.map(({ revisionId, timestamp, revisionNote }, i) => (
          <li key={revisionId} className={revisionId === datasetId ? 'good' : ''}>
            <strong>{revisionId === datasetId ? words.this : words.revision(i + 1)}</strong> <Time at={timestamp} />
            <p className="hint">{revisionNote}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Related({ dataset: { relatedDatasets } }: { readonly dataset: DatasetDetails }) {
  if (relatedDatasets.length === 0) return null;
  return (
    <section className="card" aria-label={words.related}>
      <h2>{words.related}</h2>
      <ul className="file-list">
        {relatedDatasets.map(({ datasetId, name, relatedBy }) => (
          <li key={`${datasetId} ${relatedBy.relationType}`}>
            <div className="what">
              <a href={to(`dataset/${datasetId}`)}>{name}</a>
              <span className="hint">
                {words.relations[relatedBy.relationType]}: {relatedBy.identifier}
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
