// Fields of forms: label, hint, and beside it the faults that the server or the page found.

import { useId } from 'react';
import {
  TextField as Field,
  FieldError,
  Input,
  Label,
  Text,
  TextArea,
  type TextFieldProps,
} from 'react-aria-components';

interface Props extends Omit<TextFieldProps, 'children'> {
  readonly label: string;
  readonly hint?: string;
  readonly faults?: readonly string[] | undefined;
  readonly placeholder?: string;
  readonly lines?: number;
}

export function TextField({ label, hint, faults = [], placeholder = '', lines, ...props }: Props) {
  return (
    <Field {...props} className="field" isInvalid={faults.length > 0} validationBehavior="aria">
      <Label>{label}</Label>
      {lines === undefined ? <Input placeholder={placeholder} /> : <TextArea rows={lines} placeholder={placeholder} />}
      {hint !== undefined && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="fault">{faults.join(' ')}</FieldError>
    </Field>
  );
}

interface SelectProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly onChange: (value: Value) => void;
  readonly hint?: string | undefined;
  readonly faults?: readonly string[];
  readonly isRequired?: boolean;
}

/** The browser's own: on phones it is the one that people know. */
export function Select<Value extends string>({
  label,
  value,
  options,
  onChange,
  hint,
  faults = [],
  isRequired = false,
}: SelectProps<Value>) {
  const id = useId();
  const isInvalid = faults.length > 0;
  return (
    <div className="field" data-invalid={isInvalid || undefined} data-required={isRequired || undefined}>
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        required={isRequired}
        aria-invalid={isInvalid || undefined}
        aria-describedby={`${id}-more`}
        onChange={(event) => onChange(event.target.value as Value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
      <span id={`${id}-more`}>
        {hint !== undefined && <span className="hint">{hint} </span>}
        {isInvalid && <span className="fault">{faults.join(' ')}</span>}
      </span>
    </div>
  );
}
