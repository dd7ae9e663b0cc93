// How many jobs a lane works on and holds. A slider applies at once, until the next reload; below are the lines of the
// configuration file that keep what differs from it.

import { useEffect, useRef, useState } from 'react';
import { useLoad } from '../../api/load.ts';
import { installer } from '../../api/session.ts';
import { Select } from '../../components/field.tsx';
import { ProblemView } from '../../components/notices.tsx';
import { useMayChange } from '../../components/operator.tsx';
import { loadDifferences, Reload } from '../../components/reload.tsx';
import { tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';
import { type Lane, lanesOf, type Reading } from './reading.ts';

const words = texts.lanes;
/** The bounds of the configuration. */
const BOUNDS = { workerCount: 20, inMemoryQueueSize: 100 } as const;
type Size = keyof typeof BOUNDS;
const SIZES = Object.keys(BOUNDS) as Size[];
/** So that a slider that is being moved does not send each value. */
const REST_MS = 400;

/** Lanes whose sizes may change while the program runs. */
const hasSizes = (name: string): boolean => name in texts.operate.lanes && name !== 'mail';

interface Props {
  readonly reading: Reading;
  readonly onChange: () => void;
}

export function Sizes({ reading, onChange }: Props) {
  const lanes = lanesOf(reading, texts.operate.lanes).filter((one) => hasSizes(one.name));
  const [name, setName] = useState('import');
  const [changes, setChanges] = useState(0);
  const lane = lanes.find((one) => one.name === name) ?? lanes[0];
  if (!lane) return null;
  const changed = (): void => {
    setChanges(changes + 1);
    onChange();
  };
  return (
    <section className="card sizes" aria-labelledby="sizes">
      <h2 id="sizes">{words.sizes}</h2>
      <p className="hint">{words.sizesAdvice}</p>
      <div className="sliders">
        <Select
          label={words.columns.lane}
          value={lane.name}
          options={lanes.map((one) => [one.name, one.title] as const)}
          onChange={setName}
        />
        {SIZES.map((size) => (
          <Slider key={`${lane.name} ${size}`} lane={lane} size={size} onChange={changed} />
        ))}
      </div>
      <ToKeep changes={changes} />
      <Reload onReloaded={changed} />
    </section>
  );
}

interface SliderProps {
  readonly lane: Lane;
  readonly size: Size;
  readonly onChange: () => void;
}

function Slider({ lane, size, onChange }: SliderProps) {
  const mayChange = useMayChange();
  const running = size === 'workerCount' ? lane.workers : lane.capacity;
  /** What was asked for, until the metrics show it. */
  const [wanted, setWanted] = useState<number>();
  const [isSet, setIsSet] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (isSet && wanted === running) setWanted(undefined);
  }, [isSet, wanted, running]);
  const apply = async (value: number): Promise<void> => {
    try {
      const path = { lane: lane.name };
      await installer.PATCH('/admin/lanes/{lane}/sizes', { params: { path }, body: { [size]: value } });
      setIsSet(true);
      onChange();
    } catch (error) {
      setWanted(undefined);
      tellProblem(error);
    }
  };
  const move = (value: number): void => {
    setWanted(value);
    setIsSet(false);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void apply(value), REST_MS);
  };
  return (
    <label className="field">
      <span>{words.size(size, running)}</span>
      <span className="slider">
        <input
          type="range"
          min={1}
          max={BOUNDS[size]}
          disabled={!mayChange}
          value={wanted ?? running}
          onChange={({ target }) => move(Number(target.value))}
        />
        <output>{wanted ?? running}</output>
      </span>
    </label>
  );
}

/** Sizes that differ from the file. Others may differ as well: the page of the configuration shows all. */
function ToKeep({ changes }: { readonly changes: number }) {
  const { value, error } = useLoad(String(changes), loadDifferences);
  if (error !== undefined) return <ProblemView error={error} />;
  const found = value?.applied.flatMap(({ path, from, to }) => {
    const keys = path.split('.');
    const size = keys.pop() ?? '';
    return size in BOUNDS ? [{ place: keys, size, running: from, file: to }] : [];
  });
  return (
    <div role="status" className="stretched">
      {found && found.length === 0 && <p className="hint">{words.noChange}</p>}
      {found && found.length > 0 && (
        <>
          <p>{words.change}</p>
          <Lines sizes={found} />
        </>
      )}
    </div>
  );
}

interface LinesProps {
  readonly sizes: readonly {
    readonly place: readonly string[];
    readonly size: string;
    readonly running: string | number;
    readonly file: string | number;
  }[];
}

function Lines({ sizes }: LinesProps) {
  const indent = (depth: number): string => '  '.repeat(depth);
  let above: readonly string[] = [];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard
    <pre className="diff" tabIndex={0}>
      {sizes.map(({ place, size, running, file }) => {
        // Keys that the lines above have already named are not repeated.
        const shared = place.findIndex((key, depth) => above[depth] !== key);
        const from = shared === -1 ? place.length : shared;
        above = place;
        const headings = place.slice(from).map((key, i) => `  ${indent(from + i)}${key}:\n`);
        return (
          <span key={[...place, size].join('.')}>
            {headings.join('')}
            <del>{`- ${indent(place.length)}${size}: ${file}\n`}</del>
            <ins>{`+ ${indent(place.length)}${size}: ${running}\n`}</ins>
          </span>
        );
      })}
    </pre>
  );
}
