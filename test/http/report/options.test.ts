// Every option with every format type, as the table of options says: taken, or refused under its key and the type's.

import t from 'tap';
import { resolveConfig } from '../../../engine/model/report/blast-config.ts';
import {
  FORMAT_FIELDS,
  FORMAT_TYPE_NAMES,
  type FormatType,
  fieldsOf,
} from '../../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES, type OptionName } from '../../../engine/model/report/options.ts';
import { QUERY_PROGRAMS, type QueryProgram } from '../../../engine/model/report/query-job.ts';
import { Faults } from '../../../http/kernel/input/faults.ts';
import { blastConfigReader } from '../../../http/report/create.ts';
import { keysOf as keysOfAnswer, reportApp } from './report-app.ts';

const reader = blastConfigReader();

function read(value: unknown) {
  const faults = new Faults();
  const config = reader(value, faults);
  return { config, errors: faults.errors() };
}
const keysOf = (value: unknown): readonly string[] => {
  const { config, errors } = read(value);
  t.strictSame([config, errors.general], [undefined, []]);
  return Object.keys(errors.byKey).sort();
};
const SOUND = { general: [], byKey: {} };

/** One that differs from the default. */
const VALUES: Readonly<Record<OptionName, (type: FormatType) => unknown>> = {
  formatType: (type) => type,
  formatFields: (type) =>
    fieldsOf(type)
      .slice(0, 2)
      .concat(fieldsOf(type).length > 0 ? [] : ['qseqid']),
  showGIs: () => true,
  numDescriptions: () => 7,
  numAlignments: () => 7,
  lineLength: () => 70,
  sortHits: () => 'by-bit-score',
  sortHSPs: () => 'by-hsp-score',
  maxTargetSequences: () => 7,
  parseDefLines: () => true,
};

/** Just not allowed, whatever the format type. */
const BEYOND: Readonly<Record<OptionName, readonly unknown[]>> = {
  formatType: ['Pairwise', '0', 0, 'html', ''],
  formatFields: ['qseqid', {}, 6],
  showGIs: ['true', 1],
  numDescriptions: [-1, 2_147_483_648, 1.5, '7'],
  numAlignments: [-1, 2_147_483_648, 1.5, '7'],
  lineLength: [0, 2_147_483_648, 1.5, '60'],
  sortHits: ['by-hsp-score', 0, ''],
  sortHSPs: ['by-evalue', 0, ''],
  maxTargetSequences: [4, 0, -5, 2_147_483_648, 5.5, '7'],
  parseDefLines: ['false', 0],
};

for (const type of FORMAT_TYPE_NAMES)
  t.test(type, async (t) => {
    for (const option of OPTION_NAMES) {
      const config = { formatType: type, [option]: VALUES[option](type) };
      switch (cellOf(option, type)) {
        case 'effective':
        case 'no-op':
          t.strictSame(read(config), { config: resolveConfig(config as object), errors: SOUND }, option);
          t.match(read(config).config, config, `${option} is told as it was asked for`);
          break;
        case 'refused':
          t.strictSame(keysOf(config), [`blastConfig.${option}`, 'blastConfig.formatType'].sort(), option);
          break;
      }
      for (const value of BEYOND[option])
        t.ok(
          keysOf({ formatType: type, [option]: value }).includes(`blastConfig.${option}`),
          `${option} is not ${JSON.stringify(value)}`,
        );
    }
    for (const option of ['numDescriptions', 'numAlignments'] as const) {
      const keys = keysOf({ formatType: type, maxTargetSequences: 7, [option]: 7 });
      const clash = cellOf(option, type) === 'refused' ? ['blastConfig.formatType'] : [];
      t.strictSame(keys, [...clash, 'blastConfig.maxTargetSequences', `blastConfig.${option}`].sort());
    }
    for (const more of [{}, { formatFields: [] }, { lineLength: null }])
      t.strictSame(read({ formatType: type, ...more }).config, resolveConfig({ formatType: type }), 'no option');
  });

t.test('every field is taken by the types that have it, and refused by its place by those that have not', async (t) => {
  for (const type of FORMAT_TYPE_NAMES.filter((one) => fieldsOf(one).length > 0)) {
    const own = fieldsOf(type);
    t.match(read({ formatType: type, formatFields: own }).config, { formatFields: own }, type);
    const foreign = FORMAT_FIELDS.filter((field) => !own.includes(field));
    const keys = keysOf({ formatType: type, formatFields: foreign });
    const places = foreign.map((_, i) => `blastConfig.formatFields[${i}]`).sort();
    // What frames are read of is foreign here as well.
    t.strictSame(
      keys.filter((key) => key.endsWith(']')),
      places,
      type,
    );
  }
});

t.test('frames without a field that has the alignment read are refused', async (t) => {
  for (const formatFields of [['frames'], ['sframe'], ['frames', 'sframe', 'qseqid', 'evalue', 'qlen']]) {
    t.strictSame(keysOf({ formatType: 'tabular', formatFields }), ['blastConfig.formatFields']);
    const paired = [...formatFields, 'qstart'];
    t.match(read({ formatType: 'tabular', formatFields: paired }).config, { formatFields: paired });
  }
});

t.test('sam is for queries of blastn, every other type for all programs', async (t) => {
  const app = await reportApp(t);
  for (const program of Object.keys(QUERY_PROGRAMS) as QueryProgram[])
    for (const formatType of ['sam', 'xml'] as const) {
      const body = { queryJobID: app.query('complete', program), blastConfig: { formatType } };
      const answer = await app.call('1', 'POST', '/jobs', body);
      if (formatType === 'sam' && program !== 'blastn') t.strictSame(keysOfAnswer(answer), ['blastConfig.formatType']);
      else t.equal(answer.status, 200, `${formatType} of ${program}`);
    }
});

t.test(
  'nothing, and values at their bounds, are taken; a number that is not given is told as what it comes to',
  async (t) => {
    for (const value of [undefined, null, {}, { formatType: null, lineLength: null }])
      t.strictSame(read(value), { config: resolveConfig({}), errors: SOUND });
    for (const [config, more] of [
      [{ numDescriptions: 0, numAlignments: 0, lineLength: 1 }, {}],
      [{ numDescriptions: 2_147_483_647, numAlignments: 2_147_483_647, lineLength: 2_147_483_647 }, {}],
      [{ maxTargetSequences: 5 }, {}],
      [{ maxTargetSequences: 2_147_483_647 }, {}],
      [{ numDescriptions: 7 }, { numAlignments: 250, lineLength: 60 }],
      [{ numAlignments: 7 }, { numDescriptions: 500, lineLength: 60 }],
    ] as const)
      t.match(read(config).config, { ...config, ...more });
  },
);

t.test('faults stand under their keys, and all are told at once', async (t) => {
  const told = ['is 4; a whole number from 5 to 2147483647 is required'];
  const errors = { general: [], byKey: { 'blastConfig.maxTargetSequences': told } };
  t.strictSame(read({ maxTargetSequences: 4 }), { config: undefined, errors });
  const fields = (more: readonly unknown[]) => ({ formatType: 'csv', formatFields: more });
  for (const [config, keys] of [
    [fields(['qseqid', 'x', 3]), ['formatFields[1]', 'formatFields[2]']],
    [fields(new Array(1_001).fill('qseqid')), ['formatFields']],
    [{ lineLenght: 60 }, ['lineLenght']],
    [
      { formatType: 'tabular', sortHits: 'by-name', formatFields: ['frames'], lineLength: 60 },
      ['formatFields', 'formatType', 'lineLength', 'sortHits'],
    ],
  ] as const)
    t.strictSame(
      keysOf(config),
      keys.map((key) => `blastConfig.${key}`),
    );
  for (const value of [7, 'pairwise', [], true]) t.strictSame(keysOf(value), ['blastConfig']);
});
