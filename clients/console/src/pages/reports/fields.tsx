// The options of a format, each with the field that suits it.

import type { FormatType } from '../../../../../engine/model/report/format-types.ts';
import { type Faults, faultsAt } from '../../components/faults.ts';
import { Select, TextField } from '../../components/field.tsx';
import { texts } from '../../texts.ts';
import { choicesOf, kindOf, type Option, optionsOf, type Values } from './options.ts';

const words = texts.reports;
const CHOICES: Readonly<Record<string, string>> = words.choices;

interface Props {
  readonly type: FormatType;
  readonly values: Values;
  readonly faults: Faults;
  readonly set: (option: Option, value: string) => void;
}

export function OptionFields({ type, ...props }: Props) {
  // Boxes to tick come last, so that the fields line up.
  const options = optionsOf(type).toSorted((a, b) => Number(isBox(a)) - Number(isBox(b)));
  if (options.length === 0) return <p className="hint">{words.noOptions}</p>;
  return (
    <div className="fields">
      {options.map((option) => (
        <OptionField key={option} option={option} type={type} {...props} />
      ))}
    </div>
  );
}

const isBox = (option: Option): boolean => kindOf(option) === 'boolean';

/** The server names other options as requests do; people know them by their labels. */
const withLabels = (sentence: string): string =>
  sentence.replaceAll(/'(\w+)'/g, (quoted, name: string) =>
    name in words.options ? `'${words.options[name as Option]}'` : quoted,
  );

function OptionField({ option, type, values, faults, set }: Props & { readonly option: Option }) {
  const shared = {
    label: words.options[option],
    hint: words.optionHints[option],
    value: values[option] ?? '',
    onChange: (value: string) => set(option, value),
    faults: faultsAt(faults, `blastConfig.${option}`).map(withLabels),
  };
  switch (kindOf(option)) {
    case 'integer':
      return <TextField {...shared} inputMode="numeric" />;
    case 'boolean':
      return <Check {...shared} />;
    case 'array':
      return <Columns {...shared} choices={choicesOf(option, type)} />;
    case 'string':
      return (
        <Select
          {...shared}
          options={[['', words.asFound], ...choicesOf(option, type).map((one) => [one, CHOICES[one] ?? one] as const)]}
        />
      );
  }
}

interface FieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly faults: readonly string[];
}

function Check({ label, hint, value, onChange, faults }: FieldProps) {
  return (
    <div className="field">
      <label className="check-line">
        <input
          type="checkbox"
          checked={value === 'true'}
          onChange={({ target }) => onChange(target.checked ? 'true' : '')}
        />
        {label}
      </label>
      <span className="hint">{hint}</span>
      {faults.length > 0 && <span className="fault">{faults.join(' ')}</span>}
    </div>
  );
}

/** The columns of a table, in the order in which they were chosen. */
function Columns({
  label,
  hint,
  value,
  onChange,
  faults,
  choices,
}: FieldProps & { readonly choices: readonly string[] }) {
  const chosen = value.split(' ').filter((one) => choices.includes(one));
  const choose = (one: string, isOn: boolean): void =>
    onChange([...chosen.filter((other) => other !== one), ...(isOn ? [one] : [])].join(' '));
  return (
    <fieldset className="wide" aria-invalid={faults.length > 0 || undefined}>
      <legend>{label}</legend>
      <span className="hint">{hint}</span>
      <details>
        <summary>{words.columnsChosen(chosen.length)}</summary>
        <div className="choices columns-choice">
          {choices.map((one) => (
            <label key={one}>
              <input
                type="checkbox"
                checked={chosen.includes(one)}
                onChange={({ target }) => choose(one, target.checked)}
              />
              <span>
                <code>{one}</code> {words.columns[one as keyof typeof words.columns]}
              </span>
            </label>
          ))}
        </div>
      </details>
      {chosen.length > 0 && (
        <span role="status">
          {words.columnsOrder} <code>{chosen.join(' ')}</code>
        </span>
      )}
      {faults.length > 0 && (
        <span className="fault" role="alert">
          {faults.join(' ')}
        </span>
      )}
    </fieldset>
  );
}
