// How many jobs a lane works on and holds. The file decides: the page shows the lines to change, and reloads it.

import { useState } from 'react';
import { Select } from '../../components/field.tsx';
import { Reload } from '../../components/reload.tsx';
import { texts } from '../../texts.ts';
import { type Lane, lanesOf, type Reading } from './reading.ts';

const words = texts.lanes;
/** The bounds of the configuration. */
const BOUNDS = { workerCount: 20, inMemoryQueueSize: 100 } as const;
type Size = keyof typeof BOUNDS;
const SIZES = Object.keys(BOUNDS) as Size[];

/** Lanes whose sizes a reload changes, with where they are in the file. */
function placeOf(name: string): readonly string[] | undefined {
  if (name === 'report') return ['report', 'lane'];
  return name in texts.operate.lanes && name !== 'mail' ? ['installer', 'lanes', name] : undefined;
}

interface Props {
  readonly reading: Reading;
  readonly onChange: () => void;
}

export function Sizes({ reading, onChange }: Props) {
  const lanes = lanesOf(reading, texts.operate.lanes).filter(({ name }) => placeOf(name));
  const [name, setName] = useState('import');
  const [wanted, setWanted] = useState<Readonly<Partial<Record<Size, number>>>>({});
  const lane = lanes.find((one) => one.name === name) ?? lanes[0];
  if (!lane) return null;
  const running = { workerCount: lane.workers, inMemoryQueueSize: lane.capacity };
  const changed = SIZES.filter((size) => wanted[size] !== undefined && wanted[size] !== running[size]);
  return (
    <section className="card sizes" aria-labelledby="sizes">
      <h2 id="sizes">{words.sizes}</h2>
      <p className="hint">{words.sizesAdvice}</p>
      <div className="sliders">
        <Select
          label={words.columns.lane}
          value={lane.name}
          options={lanes.map((one) => [one.name, one.title] as const)}
          onChange={(one) => {
            setName(one);
            setWanted({});
          }}
        />
        {SIZES.map((size) => (
          <label key={size} className="field">
            <span>{words.size(size, running[size])}</span>
            <span className="slider">
              <input
                type="range"
                min={1}
                max={BOUNDS[size]}
                value={wanted[size] ?? running[size]}
                onChange={({ target }) => setWanted({ ...wanted, [size]: Number(target.value) })}
              />
              <output>{wanted[size] ?? running[size]}</output>
            </span>
          </label>
        ))}
      </div>
      {changed.length > 0 ? (
        <>
          <p>{words.change}</p>
          <Lines lane={lane} running={running} wanted={wanted} changed={changed} />
        </>
      ) : (
        <p className="hint">{words.noChange}</p>
      )}
      <Reload onReloaded={onChange} />
    </section>
  );
}

interface LinesProps {
  readonly lane: Lane;
  readonly running: Readonly<Record<Size, number>>;
  readonly wanted: Readonly<Partial<Record<Size, number>>>;
  readonly changed: readonly Size[];
}

function Lines({ lane, running, wanted, changed }: LinesProps) {
  const place = placeOf(lane.name) ?? [];
  const indent = (depth: number): string => '  '.repeat(depth);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard
    <pre className="diff" tabIndex={0}>
      {place.map((key, depth) => `  ${indent(depth)}${key}:\n`).join('')}
      {changed.map((size) => (
        <span key={size}>
          <del>{`- ${indent(place.length)}${size}: ${running[size]}\n`}</del>
          <ins>{`+ ${indent(place.length)}${size}: ${wanted[size]}\n`}</ins>
        </span>
      ))}
    </pre>
  );
}
