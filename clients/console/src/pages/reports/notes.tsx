// The person's own notes about a report.

import { type FormEvent, useState } from 'react';
import { faultsOf } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { faultsAt } from '../../components/faults.ts';
import { TextField } from '../../components/field.tsx';
import { wordsOf } from '../../components/notices.tsx';
import { tellDone } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';
import type { Job, Service } from './jobs.ts';

const words = texts.reports;

interface Props {
  readonly service: Service;
  readonly job: Job;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function NotesDialog({ service, job: { reportJobID: id, userMeta = {} }, onClose, onDone }: Props) {
  const [summary, setSummary] = useState(userMeta.summary ?? '');
  const [description, setDescription] = useState(userMeta.description ?? '');
  const [error, setError] = useState<unknown>();
  const faults = faultsOf(error);
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      await service.PATCH('/jobs/{id}', {
        params: { path: { id } },
        body: { userMeta: { summary: summary.trim() || null, description: description.trim() || null } },
      });
      tellDone(words.notesSaved);
      onDone();
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog title={words.editNotes} onClose={onClose}>
      <form className="dialog-form" noValidate onSubmit={(event) => void save(event)}>
        {error !== undefined && Object.keys(faults).length === 0 && (
          <p className="fault" role="alert">
            {wordsOf(error).text}
          </p>
        )}
        <TextField
          autoFocus
          label={words.summary}
          hint={words.summaryHint}
          value={summary}
          onChange={setSummary}
          faults={faultsAt(faults, 'userMeta.summary')}
        />
        <TextField
          label={words.description}
          lines={5}
          value={description}
          onChange={setDescription}
          faults={faultsAt(faults, 'userMeta.description')}
        />
        <div className="actions">
          <Button onPress={onClose}>{texts.common.cancel}</Button>
          <Button kind="primary" type="submit">
            {texts.dataset.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
