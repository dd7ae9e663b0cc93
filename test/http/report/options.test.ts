// Every option with every format type, as the table of options says: taken, or refused under its key and the type's.

import t from 'tap';
import { resolveConfig } from '../../../engine/model/report/blast-config.ts';
import { FORMAT_FIELDS, fieldsOf } from '../../../engine/model/report/format-fields.ts';
import { FORMAT_TYPE_NAMES, type FormatType } from '../../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES, type OptionName } from '../../../engine/model/report/options.ts';
import { QUERY_PROGRAMS, type QueryProgram } from '../../../engine/model/report/query-job.ts';
import { keysOf, reportApp } from './report-app.ts';

const app = await reportApp(t, { limits: { maxQueued: 10_000, retryAfterMs: 0 } });
const queryJobID = app.query();

const ask = (blastConfig: object, query: string = queryJobID) =>
  app.call('1', 'POST', '/jobs', { queryJobID: query, blastConfig });
/** The configuration that the job then has. */
async function taken(blastConfig: object): Promise<unknown> {
  const id = await app.create('1', queryJobID, { blastConfig });
  return ((await app.call('1', 'GET', `/jobs/${id}`)).body as { blastConfig: unknown }).blastConfig;
}

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
          t.strictSame(await taken(config), resolveConfig(config as object), option);
          t.match(await taken(config), config, `${option} is told as it was asked for`);
          break;
        case 'refused':
          t.strictSame(keysOf(await ask(config)), [`blastConfig.${option}`, 'blastConfig.formatType'].sort(), option);
          break;
      }
      for (const value of BEYOND[option])
        t.ok(
          keysOf(await ask({ formatType: type, [option]: value })).includes(`blastConfig.${option}`),
          `${option} is not ${JSON.stringify(value)}`,
        );
    }
    for (const option of ['numDescriptions', 'numAlignments'] as const) {
      const keys = keysOf(await ask({ formatType: type, maxTargetSequences: 7, [option]: 7 }));
      const clash = cellOf(option, type) === 'refused' ? ['blastConfig.formatType'] : [];
      t.strictSame(keys, [...clash, 'blastConfig.maxTargetSequences', `blastConfig.${option}`].sort());
    }
    t.strictSame(await taken({ formatType: type, formatFields: [] }), resolveConfig({ formatType: type }), 'no field');
  });

t.test('every field is taken by the types that have it, and refused by its place by those that have not', async (t) => {
  for (const type of FORMAT_TYPE_NAMES.filter((one) => fieldsOf(one).length > 0)) {
    const own = fieldsOf(type);
    t.match(await taken({ formatType: type, formatFields: own }), { formatFields: own }, type);
    const foreign = FORMAT_FIELDS.filter((field) => !own.includes(field));
    const keys = keysOf(await ask({ formatType: type, formatFields: foreign }));
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
    t.strictSame(keysOf(await ask({ formatType: 'tabular', formatFields })), ['blastConfig.formatFields']);
    const paired = [...formatFields, 'qstart'];
    t.match(await taken({ formatType: 'tabular', formatFields: paired }), { formatFields: paired });
  }
});

t.test('sam is for queries of blastn, every other type for all programs', async (t) => {
  for (const program of Object.keys(QUERY_PROGRAMS) as QueryProgram[]) {
    const query = app.query('complete', program);
    for (const formatType of FORMAT_TYPE_NAMES) {
      const answer = await ask({ formatType }, query);
      if (formatType === 'sam' && program !== 'blastn') t.strictSame(keysOf(answer), ['blastConfig.formatType']);
      else t.equal(answer.status, 200, `${formatType} of ${program}`);
    }
  }
});

t.test('values at their bounds are taken', async (t) => {
  for (const config of [
    { numDescriptions: 0, numAlignments: 0, lineLength: 1 },
    { numDescriptions: 2_147_483_647, numAlignments: 2_147_483_647, lineLength: 2_147_483_647 },
    { maxTargetSequences: 5 },
    { maxTargetSequences: 2_147_483_647 },
  ])
    t.match(await taken(config), config);
});

t.test('a number that is not given is told as what it comes to', async (t) => {
  t.match(await taken({ numDescriptions: 7 }), { numDescriptions: 7, numAlignments: 250, lineLength: 60 });
  t.match(await taken({ numAlignments: 7 }), { numDescriptions: 500, numAlignments: 7, lineLength: 60 });
});
