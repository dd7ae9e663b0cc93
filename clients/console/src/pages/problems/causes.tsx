// Failures by cause, the most frequent first.

import { useState } from 'react';
import { usePolled } from '../../api/polling.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Empty, Loading } from '../../components/notices.tsx';
import { AdminProblem, useMayChange } from '../../components/operator.tsx';
import { Time } from '../../components/time.tsx';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { type Asked, filterOf } from './asked.ts';
import { OrderDialog, type OrderKind } from './order.tsx';

const words = texts.problems;
/** Each load is a row of the audit trail. */
const EVERY_MS = 30_000;
/** The API's own. */
const MOST = 200;

type Cause = Schemas['FailureCause'];

export function Causes({ asked }: { readonly asked: Asked }) {
  const filter = filterOf(asked);
  const { value, error, isLoading, reload } = usePolled(
    JSON.stringify(filter),
    async (signal) => {
      const { data } = await installer.GET('/admin/problems/causes', {
        params: { query: { ...filter, limit: MOST } },
        signal,
      });
      return (data as Schemas['FailureCauses']).results;
    },
    EVERY_MS,
  );
  const [order, setOrder] = useState<{ readonly kind: OrderKind; readonly cause: Cause }>();
  if (error !== undefined) return <AdminProblem error={error} onRetry={reload} />;
  if (!value) return isLoading ? <Loading /> : null;
  if (value.length === 0)
    return (
      <Empty
        icon="done"
        title={Object.keys(filter).length > 0 ? words.noneFound : words.none}
        advice={Object.keys(filter).length > 0 ? words.noneFoundAdvice : words.noneAdvice}
      />
    );
  return (
    <>
      <p>{(value.length < MOST ? words.causeCount : words.mostFrequent)(value.length, sumOf(value))}</p>
      <ul className="cards" aria-label={words.viewNames.causes}>
        {value.map((cause) => (
          <CauseCard
            key={`${cause.lane} ${cause.state} ${cause.cause}`}
            cause={cause}
            onOrder={(kind) => setOrder({ kind, cause })}
          />
        ))}
      </ul>
      {order && (
        <OrderDialog
          kind={order.kind}
          order={{ ...filter, ...placeOf(order.cause) }}
          onClose={() => setOrder(undefined)}
          onDone={reload}
        />
      )}
    </>
  );
}

const sumOf = (causes: readonly Cause[]): number => causes.reduce((sum, { count }) => sum + count, 0);
const placeOf = ({ cause, lane, state }: Cause) => ({ cause, lane, state });

interface CardProps {
  readonly cause: Cause;
  readonly onOrder: (kind: OrderKind) => void;
}

function CauseCard({ cause, onOrder }: CardProps) {
  const mayChange = useMayChange();
  const { count, lane, state, oldest, newest, example } = cause;
  return (
    <li className="card cause">
      <p className="cause-count">
        <strong>{count.toLocaleString('en')}</strong>
        <span className="badge bad">{words.states[state]}</span>
        <span className="badge">{texts.operate.lanes[lane]}</span>
      </p>
      <h2>{cause.cause}</h2>
      <p className="hint">{example.message}</p>
      <p className="hint">
        {words.newest} <Time at={newest} />
        {count > 1 && (
          <>
            , {words.oldest} <Time at={oldest} />
          </>
        )}
      </p>
      <div className="actions">
        <a className="button plain" href={to('problems/list', placeOf(cause))}>
          {words.show(count)}
        </a>
        <Button isDisabled={!mayChange || state === 'delayed'} onPress={() => onOrder('discard')}>
          {words.discard}
        </Button>
        <Button kind="primary" icon="refresh" isDisabled={!mayChange} onPress={() => onOrder('retry')}>
          {words.retry}
        </Button>
      </div>
    </li>
  );
}
