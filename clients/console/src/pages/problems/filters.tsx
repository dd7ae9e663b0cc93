// Filters of problems and jobs. What is typed is asked for when the typing pauses.

import { useEffect, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { replace } from '../../shell/route.ts';
import { texts } from '../../texts.ts';

const words = texts.problems;
const TYPING_MS = 300;
const LANES = Object.entries(texts.operate.lanes);
const OF_SERVICES = ['report', 'mail'];

type Asked = Readonly<Record<string, string>>;

interface Props {
  readonly view: 'causes' | 'list' | 'jobs';
  readonly asked: Asked;
}

export function Filters({ view, asked }: Props) {
  const onChange = (more: Asked): void => replace(`problems/${view}`, { ...asked, ...more });
  const lanes = view === 'jobs' ? LANES.filter(([name]) => !OF_SERVICES.includes(name)) : LANES;
  const states = Object.entries(view === 'jobs' ? words.jobStates : words.states);
  const { lane = '', state = '', cause } = asked;
  return (
    <>
      <search className="filters">
        {view === 'jobs' ? (
          <p className="hint">{words.jobsHint}</p>
        ) : (
          <Typed label={words.contains} hint={words.containsHint} name="contains" asked={asked} onChange={onChange} />
        )}
        <Select
          label={words.lane}
          value={lane}
          options={[['', words.anyLane], ...lanes]}
          onChange={(one) => onChange({ lane: one })}
        />
        <Select
          label={words.state}
          value={state}
          options={[['', view === 'jobs' ? words.anyState : words.allButDelayed], ...states]}
          onChange={(one) => onChange({ state: one })}
        />
      </search>
      {cause !== undefined && view !== 'jobs' && (
        <p className="chip">
          <span>
            {words.cause} <code>{cause}</code>
          </span>
          <Button icon="close" iconOnly onPress={() => onChange({ cause: '' })}>
            {words.anyCause}
          </Button>
        </p>
      )}
    </>
  );
}

interface TypedProps {
  readonly label: string;
  readonly hint: string;
  readonly name: string;
  readonly asked: Asked;
  readonly onChange: (more: Asked) => void;
}

function Typed({ label, hint, name, asked, onChange }: TypedProps) {
  const given = asked[name] ?? '';
  const [typed, setTyped] = useState(given);
  useEffect(() => setTyped(given), [given]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the pause anew
  useEffect(() => {
    if (typed.trim() === given) return;
    const timer = setTimeout(() => onChange({ [name]: typed.trim() }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return <TextField label={label} placeholder={hint} type="search" value={typed} onChange={setTyped} />;
}
