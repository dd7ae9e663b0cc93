// Pauses a lane, a plugin or a target, with the reason and the end; or ends its pause.

import { type FormEvent, useState } from 'react';
import type { Schemas } from '../../api/schemas.ts';
import { faultsOf, installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { useMayChange } from '../../components/operator.tsx';
import { Time } from '../../components/time.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';

const words = texts.lanes;

interface Props {
  readonly kind: Schemas['Pause']['kind'];
  readonly name: string;
  readonly title: string;
  /** In force. */
  readonly pause: Schemas['Pause'] | undefined;
  readonly onChange: () => void;
}

export function PauseButton(props: Props) {
  const { kind, name, title, pause, onChange } = props;
  const mayChange = useMayChange();
  const [isOpen, setOpen] = useState(false);
  const resume = async (): Promise<void> => {
    try {
      await installer.DELETE('/admin/pauses/{kind}/{name}', { params: { path: { kind, name } } });
      tellDone(words.resumed(title));
      onChange();
    } catch (error) {
      tellProblem(error);
    }
  };
  return (
    <span className="pause">
      {pause && (
        <span className="two-lines">
          <span>
            <span className="badge busy">{words.paused}</span> <Time at={pause.since} />
          </span>
          <span className="hint" title={pause.reason}>
            {words.pausedBy(pause.by, pause.reason)}
            {pause.until !== undefined && (
              <>
                {words.endsAt} <Time at={pause.until} />
              </>
            )}
          </span>
        </span>
      )}
      <Button
        isDisabled={!mayChange}
        aria-label={pause ? words.resumeIt(title) : words.pauseIt(title)}
        onPress={() => (pause ? void resume() : setOpen(true))}
      >
        {pause ? words.resume : words.pause}
      </Button>
      {isOpen && <PauseDialog {...props} onClose={() => setOpen(false)} />}
    </span>
  );
}

const HOUR_MS = 3_600_000;
const SPANS = { none: 0, quarter: HOUR_MS / 4, hour: HOUR_MS, night: 8 * HOUR_MS, day: 24 * HOUR_MS } as const;
type Span = keyof typeof SPANS;

function PauseDialog({ kind, name, title, onChange, onClose }: Props & { readonly onClose: () => void }) {
  const [reason, setReason] = useState('');
  const [span, setSpan] = useState<Span>('none');
  const [isBusy, setBusy] = useState(false);
  const [faults, setFaults] = useState<readonly string[]>([]);
  const pause = async (): Promise<void> => {
    setBusy(true);
    const until = SPANS[span] === 0 ? {} : { until: new Date(Date.now() + SPANS[span]).toISOString() };
    const body = { ...(reason.trim() === '' ? {} : { reason: reason.trim() }), ...until };
    try {
      await installer.PUT('/admin/pauses/{kind}/{name}', { params: { path: { kind, name } }, body });
      tellDone(words.pausedNow(title));
      onChange();
      onClose();
    } catch (error) {
      const found = faultsOf(error).reason;
      if (found) setFaults(found);
      else tellProblem(error);
      setBusy(false);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void pause();
  };
  return (
    <Dialog title={words.pauseIt(title)} onClose={onClose}>
      <form className="dialog-form" onSubmit={submit}>
        <p>{words.pauseAdvice[kind]}</p>
        <TextField
          autoFocus
          label={words.reason}
          hint={words.reasonHint}
          value={reason}
          onChange={setReason}
          faults={faults}
        />
        <Select
          label={words.until}
          value={span}
          options={Object.entries(words.spans) as [Span, string][]}
          onChange={setSpan}
        />
        <div className="actions">
          <Button onPress={onClose}>{texts.common.cancel}</Button>
          <Button kind="primary" type="submit" isDisabled={isBusy}>
            {words.pause}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
