// Has the process that answers read its configuration file again, and shows what came of it.

import { useState } from 'react';
import type { Schemas } from '../api/schemas.ts';
import { installer } from '../api/session.ts';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { ProblemView } from './notices.tsx';
import { useMayChange } from './operator.tsx';

const words = texts.reload;

export function Reload({ onReloaded }: { readonly onReloaded?: () => void }) {
  const mayChange = useMayChange();
  const [state, setState] = useState<{
    readonly report?: Schemas['ReloadReport'];
    readonly error?: unknown;
    readonly isBusy?: boolean;
  }>({});
  const reload = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      const { data } = await installer.POST('/admin/rpc/config/reload');
      setState({ report: data as Schemas['ReloadReport'] });
      onReloaded?.();
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <div className="reload">
      <Button icon="refresh" isDisabled={!mayChange || state.isBusy === true} onPress={() => void reload()}>
        {words.action}
      </Button>
      <div role="status">{state.report && <Report report={state.report} />}</div>
      {state.error !== undefined && <ProblemView error={state.error} />}
    </div>
  );
}

function Report({ report: { applied, needsRestart, unchanged } }: { readonly report: Schemas['ReloadReport'] }) {
  return (
    <>
      <p>
        <strong>{words.done(applied.length, unchanged)}</strong>
      </p>
      {applied.length > 0 && (
        <ul>
          {applied.map(({ path, from, to }) => (
            <li key={path}>
              <code>{path}</code> {words.changed(String(from), String(to))}
            </li>
          ))}
        </ul>
      )}
      {needsRestart.length > 0 && (
        <>
          <p>{words.needsRestart}</p>
          <ul>
            {needsRestart.map(({ path }) => (
              <li key={path}>
                <code>{path}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
