// Retries or discards problems, by ids or by a filter. It first counts them, then acts on them in portions.

import { type FormEvent, useState } from 'react';
import { useLoad } from '../../api/load.ts';
import type { Schemas } from '../../api/schemas.ts';
import { faultsOf, installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Loading, ProblemView } from '../../components/notices.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';
import type { Order } from './asked.ts';

const words = texts.problems;

export type OrderKind = 'retry' | 'discard';
type Handled = Schemas['HandledProblems'];
type Skip = keyof Handled['lanes'][number]['skipped'];

interface Props {
  readonly kind: OrderKind;
  readonly order: Order;
  readonly onClose: () => void;
  /** It acted on some of them. */
  readonly onDone: () => void;
}

async function send(kind: OrderKind, order: Schemas['ProblemRetry'], reason: string): Promise<Handled> {
  const { data } =
    kind === 'retry'
      ? await installer.POST('/admin/problems/retry', { body: order })
      : await installer.POST('/admin/problems/discard', { body: { ...order, reason } });
  return data as Handled;
}

export function OrderDialog({ kind, order, onClose, onDone }: Props) {
  const given = { ...order, ...(Object.keys(order).length === 0 ? { all: true } : {}) };
  // A discard is only counted here, so its reason does not matter yet.
  const counted = useLoad(JSON.stringify(given), () => send('retry', { ...given, dryRun: true }, ''));
  const [reason, setReason] = useState('');
  const [faults, setFaults] = useState<readonly string[]>([]);
  const [progress, setProgress] = useState<number>();
  const total = counted.value?.problems ?? 0;
  const run = async (): Promise<void> => {
    if (kind === 'discard' && reason.trim() === '') return setFaults([words.reasonNeeded]);
    let done = 0;
    const skipped = new Map<Skip, number>();
    setProgress(0);
    try {
      for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const part = await send(kind, { ...given, ...(after === undefined ? {} : { after }) }, reason.trim());
        done += part.done;
        for (const lane of part.lanes)
          for (const [why, count] of Object.entries(lane.skipped) as [Skip, number][])
            skipped.set(why, (skipped.get(why) ?? 0) + count);
        setProgress(done);
        after = part.next;
      }
      const left = [...skipped].map(([why, count]) => words.skipped(count, words.skips[why]));
      tellDone([words.handled[kind](done), ...left].join(' '));
      onDone();
      onClose();
    } catch (error) {
      setProgress(undefined);
      if (done > 0) onDone();
      const reasons = faultsOf(error).reason;
      if (reasons) setFaults(reasons);
      else tellProblem(error, done > 0 ? words.handled[kind](done) : undefined);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run();
  };
  return (
    <Dialog title={words.orderTitle[kind]} onClose={onClose}>
      <form className="dialog-form" onSubmit={submit}>
        {counted.error !== undefined && <ProblemView error={counted.error} onRetry={counted.reload} />}
        {!counted.value && counted.isLoading && <Loading />}
        {counted.value && <Counted counted={counted.value} />}
        <p>{words.orderAdvice[kind]}</p>
        {kind === 'discard' && (
          <TextField
            autoFocus
            label={words.reason}
            hint={words.reasonHint}
            value={reason}
            onChange={setReason}
            faults={faults}
          />
        )}
        {progress !== undefined && <p role="status">{words.progress(progress, total)}</p>}
        <div className="actions">
          <Button onPress={onClose}>{texts.common.cancel}</Button>
          <Button
            kind={kind === 'discard' ? 'danger' : 'primary'}
            type="submit"
            isDisabled={total === 0 || progress !== undefined}
          >
            {words.orderAction[kind](total)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Counted({ counted: { problems, lanes } }: { readonly counted: Handled }) {
  return (
    <div role="status">
      <p>
        <strong>{words.counted(problems)}</strong>
      </p>
      {lanes.length > 1 && (
        <ul>
          {lanes.map(({ lane, problems: count }) => (
            <li key={lane}>{words.inLane(count, texts.operate.lanes[lane])}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Calls for each, a few at once. `error` is the first of those that failed. */
export async function each<Item>(
  items: readonly Item[],
  call: (item: Item) => Promise<unknown>,
): Promise<{ readonly done: number; readonly error?: unknown }> {
  const waiting = [...items];
  let failed = 0;
  let first: unknown;
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift())
      try {
        await call(item);
      } catch (error) {
        first ??= error;
        failed += 1;
      }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return { done: items.length - failed, ...(failed > 0 ? { error: first } : {}) };
}
