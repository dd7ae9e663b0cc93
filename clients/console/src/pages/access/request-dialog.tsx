// Asking for access to a dataset.

import { type FormEvent, useState } from 'react';
import { faultsOf, session } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useFaultFocus } from '../../components/fault-focus.ts';
import { TextField } from '../../components/field.tsx';
import { wordsOf } from '../../components/notices.tsx';
import { tellDone } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';
import type { Service } from './requests.ts';

const words = texts.access;
type Field = keyof typeof words.fields;
const FIELDS = Object.keys(words.fields) as Field[];

interface Props {
  readonly service: Service;
  readonly dataset: { readonly datasetId: string; readonly name: string };
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RequestDialog({ service, dataset, onClose, onDone }: Props) {
  const userId = useStore(session)?.self.userId;
  const [values, setValues] = useState<Partial<Record<Field, string>>>({});
  const [error, setError] = useState<unknown>();
  const faults = faultsOf(error);
  useFaultFocus(error);
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const filled = Object.fromEntries(FIELDS.map((field) => [field, values[field]?.trim() ?? ''])) as Record<
      Field,
      string
    >;
    try {
      await service.POST('/dataset-end-users', {
        body: { ...filled, datasetId: dataset.datasetId, ...(userId === undefined ? {} : { userId }) },
      });
      tellDone(words.sent);
      onDone();
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog title={words.requestFor(dataset.name)} onClose={onClose}>
      <form className="dialog-form" noValidate onSubmit={(event) => void send(event)}>
        {error !== undefined && FIELDS.every((field) => !faults[field]) && (
          <p className="fault" role="alert">
            {wordsOf(error).text}
          </p>
        )}
        {FIELDS.map((field) => (
          <TextField
            key={field}
            label={words.fields[field]}
            lines={2}
            value={values[field] ?? ''}
            onChange={(value) => setValues((before) => ({ ...before, [field]: value }))}
            faults={faults[field]?.map(texts.problem.ofField)}
            {...(words.hints[field] === '' ? {} : { hint: words.hints[field] })}
          />
        ))}
        <div className="actions">
          <Button onPress={onClose}>{texts.common.cancel}</Button>
          <Button kind="primary" type="submit">
            {words.send}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
