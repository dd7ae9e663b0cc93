// Editing the metadata, and sharing with somebody.

import { type FormEvent, useState } from 'react';
import { type DatasetDetails, LongshoreError } from '../../../../typescript/src/index.ts';
import { faultsOf, installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useFaultFocus } from '../../components/fault-focus.ts';
import { Select, TextField } from '../../components/field.tsx';
import { wordsOf } from '../../components/notices.tsx';
import { tellDone } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';

const words = texts.dataset;
type Field = keyof typeof words.fields;
const FIELDS = Object.keys(words.fields) as Field[];
const REQUIRED: ReadonlySet<Field> = new Set(['name', 'summary']);
const LINES: Partial<Record<Field, number>> = { summary: 2, description: 5 };

interface Props {
  readonly dataset: DatasetDetails;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** A change is an object with the new value; its faults are those of the field. */
const ofFields = (faults: Readonly<Record<string, readonly string[]>>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(Object.entries(faults).map(([key, sentences]) => [key.replace(/\.value$/, ''), sentences]));

export function EditDialog({ dataset, etag, onClose, onDone }: Props & { readonly etag: string | undefined }) {
  const [values, setValues] = useState<Partial<Record<Field, string>>>({});
  const [visibility, setVisibility] = useState(dataset.visibility);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const faults = ofFields(faultsOf(error));
  useFaultFocus(error);
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const changed = FIELDS.filter((field) => values[field] !== undefined && values[field] !== (dataset[field] ?? ''));
    const patch = Object.fromEntries(
      changed.map((field) => [field, { value: values[field]?.trim() || (REQUIRED.has(field) ? '' : null) }]),
    );
    if (visibility !== dataset.visibility) patch.visibility = { value: visibility };
    if (Object.keys(patch).length === 0) return onClose();
    setBusy(true);
    try {
      await installer.PATCH('/datasets/{id}', {
        params: { path: { id: dataset.datasetId }, ...(etag === undefined ? {} : { header: { 'If-Match': etag } }) },
        body: patch as never,
      });
      tellDone(words.edited);
      onDone();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  const hasOwnPlace = [...FIELDS, 'visibility'].some((field) => faults[field]);
  return (
    <Dialog title={words.editTitle} onClose={onClose}>
      <form className="dialog-form" noValidate onSubmit={(event) => void save(event)}>
        {error !== undefined && !hasOwnPlace && (
          <p className="fault" role="alert">
            {error instanceof LongshoreError && error.code === 412 ? words.changedMeanwhile : wordsOf(error).text}{' '}
            {Object.entries(faults)
              .map(([field, sentences]) => `${field} ${sentences.join(' ')}`)
              .join(' ')}
          </p>
        )}
        <div className="fields">
          {FIELDS.map((field) => {
            const lines = LINES[field];
            return (
              <div key={field} className={lines === undefined ? '' : 'wide'}>
                <TextField
                  label={words.fields[field]}
                  value={values[field] ?? dataset[field] ?? ''}
                  onChange={(value) => setValues((before) => ({ ...before, [field]: value }))}
                  faults={faults[field]?.map(texts.problem.ofField)}
                  isRequired={REQUIRED.has(field)}
                  {...(lines === undefined ? {} : { lines })}
                />
              </div>
            );
          })}
          <Select
            label={words.facts.visibility}
            value={visibility}
            options={Object.entries(words.visibilities) as [typeof visibility, string][]}
            onChange={setVisibility}
            faults={faults.visibility?.map(texts.problem.ofField) ?? []}
          />
        </div>
        <div className="actions">
          <Button onPress={onClose}>{texts.common.cancel}</Button>
          <Button kind="primary" type="submit" isDisabled={isBusy}>
            {words.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export const offer = (id: string, recipient: number, action: 'grant' | 'revoke'): Promise<unknown> =>
  installer.PUT('/datasets/{id}/shares/{recipient}/offer', { params: { path: { id, recipient } }, body: { action } });

export function ShareDialog({ dataset, onClose, onDone }: Props) {
  const [recipient, setRecipient] = useState('');
  const [faults, setFaults] = useState<readonly string[]>([]);
  useFaultFocus(faults.length > 0 ? faults : undefined);
  const share = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!/^[1-9]\d*$/.test(recipient.trim())) return setFaults([texts.datasets.recipientNeeded]);
    try {
      await offer(dataset.datasetId, Number(recipient), 'grant');
      tellDone(words.shared(recipient));
      onDone();
    } catch (error) {
      setFaults(faultsOf(error).recipient ?? [wordsOf(error).text]);
    }
  };
  return (
    <Dialog title={words.shareTitle} onClose={onClose}>
      <form className="dialog-form" onSubmit={(event) => void share(event)}>
        <TextField
          autoFocus
          label={texts.datasets.recipient}
          hint={texts.datasets.recipientHint}
          inputMode="numeric"
          value={recipient}
          onChange={setRecipient}
          faults={faults}
        />
        <div className="actions">
          <Button onPress={onClose}>{texts.common.cancel}</Button>
          <Button kind="primary" type="submit">
            {words.share}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
