// The configuration file of the process that answers: how it differs from what runs, and its reload with what came of it.

import { useState } from 'react';
import { LongshoreError } from '../../../typescript/src/index.ts';
import { useLoad } from '../api/load.ts';
import type { Schemas } from '../api/schemas.ts';
import { installer } from '../api/session.ts';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Loading, ProblemView } from './notices.tsx';
import { useMayChange } from './operator.tsx';

const words = texts.reload;

type Report = Schemas['ReloadReport'];

/** What a reload would do. Each load is a row of the audit trail. */
export async function loadDifferences(signal: AbortSignal): Promise<Report> {
  const { data } = await installer.GET('/admin/rpc/config/reload', { signal });
  return data as Report;
}

export function Differences() {
  const { value, error, isLoading, reload } = useLoad('differences', loadDifferences);
  return (
    <div className="reload">
      <p className="line">
        <strong role="status">{value && words.differs(value.applied.length + value.needsRestart.length)}</strong>
        <Button icon="refresh" onPress={reload} isDisabled={isLoading}>
          {words.compare}
        </Button>
      </p>
      {!value && isLoading && <Loading />}
      {error !== undefined && <ProblemView error={error} />}
      {value && (
        <>
          {value.applied.length > 0 && <p>{words.wouldApply}</p>}
          <Changes report={value} />
        </>
      )}
    </div>
  );
}

interface ReloadProps {
  readonly onReloaded?: () => void;
  /** The file has faults, which the caller shows. Absent: they are shown here. */
  readonly onFaulty?: () => void;
}

export function Reload({ onReloaded, onFaulty }: ReloadProps) {
  const mayChange = useMayChange();
  const [state, setState] = useState<{
    readonly report?: Report;
    readonly error?: unknown;
    readonly isBusy?: boolean;
  }>({});
  const reload = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      const { data } = await installer.POST('/admin/rpc/config/reload');
      setState({ report: data as Report });
      onReloaded?.();
    } catch (error) {
      const isFaulty = error instanceof LongshoreError && error.code === 422;
      setState(isFaulty && onFaulty ? {} : { error });
      if (isFaulty) onFaulty?.();
    }
  };
  const { report, error, isBusy = false } = state;
  return (
    <div className="reload">
      <Button icon="refresh" isDisabled={!mayChange || isBusy} onPress={() => void reload()}>
        {words.action}
      </Button>
      <div role="status">
        {report && (
          <>
            <p>
              <strong>{words.done(report.applied.length, report.unchanged)}</strong>
            </p>
            <Changes report={report} />
          </>
        )}
      </div>
      {error !== undefined && <ProblemView error={error} />}
    </div>
  );
}

function Changes({ report: { applied, needsRestart } }: { readonly report: Report }) {
  return (
    <>
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
