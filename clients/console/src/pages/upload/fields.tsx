// The fields of the form that are about the data: type, sites, visibility; and the text fields by section.

import { type Faults, faultsAt } from '../../components/faults.ts';
import { Select, TextField } from '../../components/field.tsx';
import { bytes, typeName } from '../../components/format.ts';
import { texts } from '../../texts.ts';
import { chosenTargets, type DataType, type FieldPath, SECTIONS, type Target, type Values } from './details.ts';

const words = texts.upload;

interface FormProps {
  readonly values: Values;
  readonly faults: Faults;
  readonly required: ReadonlySet<string>;
  readonly set: (path: string, value: string) => void;
}

const LINES: Readonly<Record<string, number>> = { summary: 2, description: 4 };
const HINTS: Readonly<Record<string, string>> = words.hints;

export function Section({ section, ...form }: FormProps & { readonly section: keyof typeof SECTIONS }) {
  const advice = words.advice[section];
  return (
    <section className="card" aria-label={words.sections[section]}>
      <div>
        <h2>{words.sections[section]}</h2>
        {advice !== '' && <p className="hint">{advice}</p>}
      </div>
      <div className="fields">
        {SECTIONS[section].map((path) => (
          <div key={path} className={LINES[path] || path === 'name' ? 'wide' : ''}>
            <One path={path} {...form} />
          </div>
        ))}
      </div>
    </section>
  );
}

function One({ path, values, faults, required, set }: FormProps & { readonly path: FieldPath }) {
  const hint = HINTS[path];
  const lines = LINES[path];
  // What is missing as a whole is said beside its first field.
  const isFirst = path === 'experimentalOrganism.species';
  return (
    <TextField
      label={words.fields[path]}
      isRequired={required.has(path)}
      value={values[path] ?? ''}
      onChange={(value) => set(path, value)}
      faults={[
        ...(isFirst
          ? faultsAt({ experimentalOrganism: faults.experimentalOrganism ?? [] }, 'experimentalOrganism')
          : []),
        ...faultsAt(faults, path),
      ]}
      {...(hint === undefined ? {} : { hint })}
      {...(lines === undefined ? {} : { lines })}
    />
  );
}

interface DataProps extends FormProps {
  readonly types: ReadonlyMap<string, DataType>;
  readonly targets: readonly Target[];
}

export function DataFields({ values, faults, required, set, types, targets }: DataProps) {
  const type = types.get(values.type ?? '');
  const chosen = chosenTargets(values);
  const targetFaults = faultsAt(faults, 'installTargets');
  const choose = (id: string, isOn: boolean): void =>
    set('installTargets', [...chosen.filter((one) => one !== id), ...(isOn ? [id] : [])].join(' '));
  return (
    <div className="fields">
      <Select
        label={words.type}
        value={values.type ?? ''}
        options={[
          ['', words.chooseType],
          ...[...types].map(([key, { category }]) => [key, `${category} (${typeName(key)})`] as const),
        ]}
        onChange={(value) => set('type', value)}
        faults={faultsAt(faults, 'type')}
        isRequired={required.has('type')}
        hint={type && words.typeHint(type.allowedFileExtensions.join(', ') || words.anyFile, bytes(type.maxFileSize))}
      />
      <Select
        label={words.visibility}
        value={values.visibility || 'private'}
        options={Object.entries(words.visibilities)}
        onChange={(value) => set('visibility', value)}
        faults={faultsAt(faults, 'visibility')}
      />
      <fieldset
        className="wide"
        aria-invalid={targetFaults.length > 0 || undefined}
        data-required={required.has('installTargets') || undefined}
      >
        <legend>
          {words.targets} <span className="hidden-text">{words.atLeastOne}</span>
        </legend>
        <div className="choices">
          {targets.map(({ id, name }) => (
            <label key={id}>
              <input
                type="checkbox"
                checked={chosen.includes(id)}
                onChange={({ target }) => choose(id, target.checked)}
              />
              {name}
            </label>
          ))}
        </div>
        {targetFaults.length > 0 && (
          <span className="fault" role="alert">
            {targetFaults.join(' ')}
          </span>
        )}
      </fieldset>
    </div>
  );
}

interface AttachedProps {
  readonly label: string;
  readonly hint: string;
  readonly isRequired?: boolean;
  readonly faults: readonly string[];
  readonly onChange: (files: readonly File[]) => void;
}

/** Small files that are sent with the form. */
export function Attached({ label, hint, isRequired = false, faults, onChange }: AttachedProps) {
  return (
    <label className="field" data-required={isRequired || undefined}>
      <span>{label}</span>
      <input
        type="file"
        multiple
        required={isRequired}
        onChange={({ target }) => onChange([...(target.files ?? [])])}
      />
      <span className="hint">{hint}</span>
      {faults.length > 0 && <span className="fault">{faults.join(' ')}</span>}
    </label>
  );
}
