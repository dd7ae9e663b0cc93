// Checks the field `blastConfig` of a request: first each value against the schema, then the combination of values.

import {
  BLAST_CONFIG_SCHEMA,
  type BlastConfig,
  checkCombination,
  type FaultSink,
  type ResolvedConfig,
  resolveConfig,
} from '../../engine/model/report/blast-config.ts';
import { compileSchema } from '../kernel/input/json-schema.ts';

const FIELD = 'blastConfig';

/**
 * Returns the resolved configuration, or undefined after adding faults below `blastConfig`. If the value is null or absent, the
 * report is pairwise. A field that is null counts as absent (docs/contract/report.md#blast-config).
 */
export type BlastConfigReader = (value: unknown, faults: FaultSink) => ResolvedConfig | undefined;

export function blastConfigReader(): BlastConfigReader {
  const check = compileSchema({ type: 'object', properties: { [FIELD]: BLAST_CONFIG_SCHEMA } });
  return (value, faults) => {
    const config = withoutNulls(value ?? {});
    let sound = true;
    const sink: FaultSink = {
      add: (path, sentence) => {
        sound = false;
        faults.add(path, sentence);
      },
    };
    check({ [FIELD]: config }, sink);
    if (isObject(config)) checkCombination(config, sink);
    return sound ? resolveConfig(config as BlastConfig) : undefined;
  };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const withoutNulls = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null)) : value;
