// A new report of a query job: format, its options, and notes. What is wrong the server says, beside the fields.

import { type FormEvent, useRef, useState } from 'react';
import {
  DEFAULT_FORMAT_TYPE,
  FORMAT_TYPE_NAMES,
  type FormatType,
} from '../../../../../engine/model/report/format-types.ts';
import { faultsOf } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { useFaultFocus } from '../../components/fault-focus.ts';
import { faultsAt, faultsElsewhere } from '../../components/faults.ts';
import { Select, TextField } from '../../components/field.tsx';
import { wordsOf } from '../../components/notices.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { tellDone } from '../../components/toasts.tsx';
import { go, to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { OptionFields } from './fields.tsx';
import type { Service } from './jobs.ts';
import { configOf, optionsOf, type Values } from './options.ts';

const words = texts.reports;

interface Props {
  readonly service: Service;
  readonly queryId: string;
}

export function NewReport({ service, queryId }: Props) {
  const [query, setQuery] = useState(queryId);
  const [type, setType] = useState<FormatType>(DEFAULT_FORMAT_TYPE);
  const [values, setValues] = useState<Values>({});
  const [summary, setSummary] = useState('');
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const problem = useRef<HTMLDivElement>(null);
  const faults = faultsOf(error);
  useFaultFocus(error, problem);
  const request = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const { data } = await service.POST('/jobs', {
        body: {
          queryJobID: query.trim(),
          blastConfig: configOf(type, values),
          addToUserCollection: true,
          ...(summary.trim() === '' ? {} : { userMeta: { summary: summary.trim() } }),
        },
      });
      tellDone(words.requested);
      go(`reports/${(data as { readonly reportJobID: string }).reportJobID}`);
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  const shown = [
    ...['queryJobID', 'blastConfig.formatType', 'userMeta.summary'],
    ...optionsOf(type).map((option) => `blastConfig.${option}`),
  ];
  const others = faultsElsewhere(faults, shown);
  return (
    <>
      <a href={to('reports')}>{words.back}</a>
      <PageHead title={words.newTitle} lead={words.newLead} />
      <form className="form" noValidate onSubmit={(event) => void request(event)}>
        {error !== undefined && (
          <div className="problem" role="alert" ref={problem} tabIndex={-1}>
            <div>
              <h2>{words.refused}</h2>
              <p>{Object.keys(faults).length > 0 ? words.refusedAdvice : wordsOf(error).text}</p>
              {others.length > 0 && (
                <ul>
                  {others.map((sentence) => (
                    <li key={sentence}>{sentence}</li>
                  ))}
                </ul>
              )}
            </div>
          </div>
        )}
        <section className="card" aria-label={words.what}>
          <h2>{words.what}</h2>
          <TextField
            label={words.query}
            hint={words.queryHint}
            isRequired
            value={query}
            onChange={setQuery}
            faults={faultsAt(faults, 'queryJobID')}
          />
          <Select
            label={words.format}
            value={type}
            options={FORMAT_TYPE_NAMES.map((name) => [name, words.formats[name]] as const)}
            onChange={setType}
            faults={faultsAt(faults, 'blastConfig.formatType')}
          />
        </section>
        <section className="card" aria-label={words.optionsHeading}>
          <div>
            <h2>{words.optionsHeading}</h2>
            <p className="hint">{words.optionsAdvice}</p>
          </div>
          <OptionFields
            type={type}
            values={values}
            faults={faults}
            set={(option, value) => setValues((before) => ({ ...before, [option]: value }))}
          />
        </section>
        <section className="card" aria-label={words.notes}>
          <TextField
            label={words.summary}
            hint={words.summaryHint}
            value={summary}
            onChange={setSummary}
            faults={faultsAt(faults, 'userMeta.summary')}
          />
        </section>
        <div className="bar">
          <span />
          <Button kind="primary" icon="report" type="submit" isDisabled={isBusy}>
            {words.request}
          </Button>
        </div>
      </form>
    </>
  );
}
