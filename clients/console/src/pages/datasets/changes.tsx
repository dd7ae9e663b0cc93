// Sharing and deleting the selected datasets.

import { type FormEvent, useState } from 'react';
import type { ListingItem } from '../../../../typescript/src/index.ts';
import { faultsOf, installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Confirm, Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { wordsOf } from '../../components/notices.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';

interface Props {
  readonly datasets: readonly ListingItem[];
  readonly onClose: () => void;
  /** With the datasets that could not be changed. */
  readonly onDone: (left: readonly ListingItem[]) => void;
}

const AT_ONCE = 4;

/** Changes each; those that fail are told, and returned. */
async function each(
  datasets: readonly ListingItem[],
  change: (dataset: ListingItem) => Promise<unknown>,
): Promise<readonly ListingItem[]> {
  const waiting = [...datasets];
  const failed: ListingItem[] = [];
  let firstError: unknown;
  const worker = async (): Promise<void> => {
    for (let dataset = waiting.shift(); dataset; dataset = waiting.shift())
      try {
        await change(dataset);
      } catch (error) {
        firstError ??= error;
        failed.push(dataset);
      }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (failed.length > 0) tellProblem(firstError, texts.datasets.notAll(failed.length, datasets.length));
  return failed;
}

export function ShareDialog({ datasets, onClose, onDone }: Props) {
  const [recipient, setRecipient] = useState('');
  const [faults, setFaults] = useState<readonly string[]>([]);
  const [isBusy, setBusy] = useState(false);
  const offer = ({ datasetId }: ListingItem, user: number): Promise<unknown> =>
    installer.PUT('/datasets/{id}/shares/{recipient}/offer', {
      params: { path: { id: datasetId, recipient: user } },
      body: { action: 'grant' },
    });
  const share = async (): Promise<void> => {
    const [first, ...others] = datasets;
    if (!first || !/^[1-9]\d*$/.test(recipient.trim())) return setFaults([texts.datasets.recipientNeeded]);
    const user = Number(recipient.trim());
    setBusy(true);
    try {
      // The first alone: what is wrong with the recipient is wrong for all, and belongs beside the field.
      await offer(first, user);
    } catch (error) {
      return setFaults(faultsOf(error).recipient ?? [wordsOf(error).text]);
    } finally {
      setBusy(false);
    }
    const failed = await each(others, (dataset) => offer(dataset, user));
    tellDone(texts.datasets.shared(datasets.length - failed.length, recipient));
    onDone(failed);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void share();
  };
  return (
    <Dialog title={texts.datasets.shareTitle(datasets.length)} onClose={onClose}>
      <form className="dialog-form" onSubmit={submit}>
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
          <Button kind="primary" type="submit" isDisabled={isBusy}>
            {texts.datasets.share}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function DeleteDialog({ datasets, onClose, onDone }: Props) {
  const [isBusy, setBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setBusy(true);
    const failed = await each(datasets, ({ datasetId }) =>
      installer.DELETE('/datasets/{id}', { params: { path: { id: datasetId } } }),
    );
    if (failed.length < datasets.length) tellDone(texts.datasets.deleted(datasets.length - failed.length));
    onDone(failed);
  };
  return (
    <Confirm
      title={texts.datasets.deleteTitle(datasets.length)}
      action={texts.datasets.delete}
      onClose={onClose}
      onConfirm={() => void remove()}
      isBusy={isBusy}
    >
      <p>{texts.datasets.deleteAdvice}</p>
    </Confirm>
  );
}
