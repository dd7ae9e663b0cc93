// Where files are dropped or chosen, and the list of those on their way.

import { useRef, useState } from 'react';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { bytes, duration } from '../../components/format.ts';
import { Icon } from '../../components/icons.tsx';
import { texts } from '../../texts.ts';
import { addFiles, pause, remove, resume, type Transfer, takeFound, transfers } from './transfers.ts';

const words = texts.upload;

interface Props {
  readonly faults: readonly string[];
  /** What is wrong with a file of this name, as far as the page knows. */
  readonly faultOf?: (name: string, alone: boolean) => string | undefined;
}

export function Files({ faults, faultOf }: Props) {
  const all = useStore(transfers);
  const found = all.filter(({ state }) => state === 'found');
  const current = all.filter(({ state }) => state !== 'found');
  return (
    <>
      <Drop />
      {faults.length > 0 && (
        <p className="fault" role="alert">
          {faults.join(' ')}
        </p>
      )}
      {current.length > 0 && (
        <ul className="file-list" aria-label={words.files}>
          {current.map((one) => (
            <Sent key={one.key} transfer={one} nameFault={faultOf?.(one.name, current.length === 1)} />
          ))}
        </ul>
      )}
      {current.some(({ state }) => state !== 'done') && <p className="hint">{words.reloadAdvice}</p>}
      {found.length > 0 && (
        <>
          <h3>{words.found}</h3>
          <ul className="file-list" aria-label={words.found}>
            {found.map((one) => (
              <Found key={one.key} transfer={one} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Drop() {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is for the mouse; the button does the same
    <div
      className={`drop${isOver ? ' over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        addFiles([...event.dataTransfer.files]);
      }}
    >
      <Icon name="upload" />
      <span>{words.drop}</span>
      <Button onPress={() => input.current?.click()}>{words.choose}</Button>
      <span className="hint">{words.dropAdvice}</span>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={words.choose}
        onChange={({ target }) => {
          addFiles([...(target.files ?? [])]);
          // So that the same file can be chosen again.
          target.value = '';
        }}
      />
    </div>
  );
}

interface SentProps {
  readonly transfer: Transfer;
  readonly nameFault: string | undefined;
}

function Sent({ transfer: { key, name, size, sent, state, speed = 0, fault }, nameFault }: SentProps) {
  const isMoving = state === 'sending' && speed > 0;
  return (
    <li>
      <Icon name={state === 'done' ? 'done' : 'file'} />
      <div className="what">
        <strong>{name}</strong>
        {nameFault !== undefined && <span className="fault">{nameFault}</span>}
        {state === 'done' ? (
          <span className="hint">
            {words.states.done}, {bytes(size)}
          </span>
        ) : (
          <>
            <progress aria-label={words.progress(name)} value={sent} max={size || 1} />
            <span className={state === 'failed' ? 'fault' : 'hint'}>
              {words.states[state]}: {words.sent(bytes(sent), bytes(size))}
              {isMoving && `, ${words.speed(bytes(speed), duration((size - sent) / speed))}`}
              {state === 'failed' && ` · ${fault || words.failed}`}
            </span>
          </>
        )}
      </div>
      {(state === 'sending' || state === 'waiting') && (
        <Button icon="pause" iconOnly onPress={() => pause(key)}>
          {words.pause(name)}
        </Button>
      )}
      {(state === 'paused' || state === 'failed') && (
        <Button icon="resume" iconOnly onPress={() => resume(key)}>
          {words.resume(name)}
        </Button>
      )}
      <Button icon="close" iconOnly onPress={() => void remove(key)}>
        {words.remove(name)}
      </Button>
    </li>
  );
}

function Found({ transfer }: { readonly transfer: Transfer }) {
  const { key, name, size, sent, lastModified } = transfer;
  const isWhole = sent === size;
  const partOf = lastModified === undefined ? words.foundForeign : words.foundPart;
  return (
    <li>
      <Icon name="file" />
      <div className="what">
        <strong>{name}</strong>
        <span className="hint">
          {bytes(size)}. {isWhole ? words.foundWhole : partOf(`${Math.floor((100 * sent) / size)} %`)}
        </span>
      </div>
      {isWhole && <Button onPress={() => takeFound(key)}>{words.use}</Button>}
      <Button icon="close" iconOnly onPress={() => void remove(key)}>
        {words.remove(name)}
      </Button>
    </li>
  );
}
