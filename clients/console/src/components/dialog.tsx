// A dialog in front of the page, and one that asks whether to go on.

import type { ReactNode } from 'react';
import { Heading, Modal, ModalOverlay, Dialog as Window } from 'react-aria-components';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Mount it to open it. Escape and a click outside of it close it. */
export function Dialog({ title, onClose, children }: Props) {
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(isOpen) => isOpen || onClose()}>
      <Modal className="modal">
        <Window className="dialog">
          <Heading slot="title">{title}</Heading>
          {children}
        </Window>
      </Modal>
    </ModalOverlay>
  );
}

interface ConfirmProps extends Props {
  /** What it does, such as `Delete`. */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly isBusy?: boolean;
}

export function Confirm({ action, onConfirm, isBusy = false, children, ...props }: ConfirmProps) {
  return (
    <Dialog {...props}>
      {children}
      <div className="actions">
        <Button onPress={props.onClose}>{texts.common.cancel}</Button>
        <Button kind="danger" onPress={onConfirm} isDisabled={isBusy}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
