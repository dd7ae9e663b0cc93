// Search and filters of the list. What is typed is asked for when the typing pauses.

import { useEffect, useState } from 'react';
import { Select, TextField } from '../../components/field.tsx';
import { texts } from '../../texts.ts';

const words = texts.datasets;
const TYPING_MS = 300;
const STATUSES = [['', words.anyStatus], ...Object.entries(words.statuses)] as [string, string][];
const OWNERSHIPS = Object.entries(words.ownerships).map(
  ([value, text]) => [value === 'any' ? '' : value, text] as const,
);

interface Props {
  readonly asked: Readonly<Record<string, string>>;
  readonly onChange: (more: Readonly<Record<string, string>>) => void;
}

export function Filters({ asked, onChange }: Props) {
  const { q = '', status = '', ownership = '' } = asked;
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the pause anew
  useEffect(() => {
    if (typed.trim() === q) return;
    const timer = setTimeout(() => onChange({ q: typed.trim() }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <search className="filters">
      <TextField label={words.search} placeholder={words.searchHint} type="search" value={typed} onChange={setTyped} />
      <Select label={words.status} value={status} options={STATUSES} onChange={(one) => onChange({ status: one })} />
      <Select
        label={words.ownership}
        value={ownership}
        options={OWNERSHIPS}
        onChange={(one) => onChange({ ownership: one })}
      />
    </search>
  );
}
