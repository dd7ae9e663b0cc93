// The configuration file of the process that answers: how it differs from what runs, its reload, and the log level.

import { useState } from 'react';
import { useLoad } from '../../api/load.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Loading } from '../../components/notices.tsx';
import { AdminProblem, useMayChange } from '../../components/operator.tsx';
import { Differences, Reload } from '../../components/reload.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';

const words = texts.configuration;
type Level = Schemas['LogLevelNow']['level'];

export function ConfigurationFile() {
  const { value, error, isLoading, reload } = useLoad('log level', async (signal) => {
    const { data } = await installer.GET('/admin/rpc/log/level', { signal });
    return (data as Schemas['LogLevelNow']).level;
  });
  const [attempts, setAttempts] = useState(0);
  const compare = (): void => setAttempts(attempts + 1);
  const reloaded = (): void => {
    compare();
    reload();
  };
  if (error !== undefined) return <AdminProblem error={error} onRetry={reload} />;
  if (!value && isLoading) return <Loading />;
  return (
    <>
      <section className="card sizes" aria-labelledby="file">
        <h2 id="file">{words.file}</h2>
        <p>{words.fileAdvice}</p>
        {/* Compared again after a reload, and after a change of the level. */}
        <Differences key={`${attempts} ${value}`} />
        <Reload onReloaded={reloaded} onFaulty={compare} />
      </section>
      {value && <LogLevel level={value} onChange={reload} />}
    </>
  );
}

function LogLevel({ level, onChange }: { readonly level: Level; readonly onChange: () => void }) {
  const mayChange = useMayChange();
  const set = async (to: Level): Promise<void> => {
    try {
      await installer.POST('/admin/rpc/log/level', { params: { query: { level: to } } });
      tellDone(words.changed(to));
      onChange();
    } catch (error) {
      tellProblem(error);
    }
  };
  return (
    <section className="card sizes" aria-labelledby="level">
      <h2 id="level">{words.level}</h2>
      <p>{words.levelAdvice}</p>
      <p>
        {words.levelNow} <strong>{level}</strong>
      </p>
      <div className="actions">
        {(Object.keys(words.levels) as Level[]).map((one) => (
          <Button key={one} isDisabled={!mayChange || one === level} onPress={() => void set(one)}>
            {words.levels[one]}
          </Button>
        ))}
      </div>
    </section>
  );
}
