// Ends running jobs. They are dead then, and run again only when they are retried.

import { type FormEvent, useState } from 'react';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';
import type { Job } from './jobs.tsx';
import { each } from './order.tsx';

const words = texts.problems;

interface Props {
  readonly jobs: readonly Job[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function CancelDialog({ jobs, onClose, onDone }: Props) {
  const [reason, setReason] = useState('');
  const [isHard, setHard] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const cancel = async (): Promise<void> => {
    setBusy(true);
    const body = { ...(reason.trim() === '' ? {} : { reason: reason.trim() }), hard: isHard };
    const { done, error: fault } = await each(jobs, ({ id }) =>
      installer.POST('/admin/rpc/jobs/{id}/cancel', { params: { path: { id } }, body }),
    );
    if (done > 0) tellDone(words.jobsCancelled(done));
    if (fault !== undefined) tellProblem(fault);
    onDone();
    onClose();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void cancel();
  };
  return (
    <Dialog title={words.cancelTitle(jobs.length)} onClose={onClose}>
      <form className="dialog-form" onSubmit={submit}>
        <p>{words.cancelAdvice}</p>
        <TextField autoFocus label={words.reason} hint={words.reasonOptional} value={reason} onChange={setReason} />
        <label className="check-line">
          <input type="checkbox" checked={isHard} onChange={({ target }) => setHard(target.checked)} />
          {words.hard}
        </label>
        <div className="actions">
          <Button onPress={onClose}>{texts.common.close}</Button>
          <Button kind="danger" type="submit" isDisabled={isBusy}>
            {words.cancelJobs(jobs.length)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
