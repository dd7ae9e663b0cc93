// After a refusal, the focus is on the first field with a fault, so that a keyboard or a screen reader goes on there.

import { type RefObject, useEffect } from 'react';

/**
 * Waits until the page shows the refusal, which React may do after the next frame. A new value is a new refusal; undefined is none.
 * `otherwise` gets the focus if no field has a fault; without it, the focus stays where it is.
 */
export function useFaultFocus(refusal: unknown, otherwise?: RefObject<HTMLElement>): void {
  useEffect(() => {
    if (refusal === undefined) return;
    const field = document.querySelector<HTMLElement>(
      'form:is(.form, .dialog-form) [aria-invalid="true"]:not(fieldset)',
    );
    (field ?? otherwise?.current)?.focus();
  }, [refusal, otherwise]);
}
