import t from 'tap';
import { resolveConfig } from '../../../engine/model/report/blast-config.ts';
import { FORMAT_TYPE_NAMES } from '../../../engine/model/report/format-types.ts';
import { Faults } from '../../../http/input/faults.ts';
import { blastConfigReader } from '../../../http/report/blast-config.ts';

const reader = blastConfigReader();

function read(value: unknown) {
  const faults = new Faults();
  const config = reader(value, faults);
  return { config, errors: faults.errors() };
}
const keysOf = (value: unknown): readonly string[] => {
  const { config, errors } = read(value);
  t.equal(config, undefined);
  t.strictSame(errors.general, []);
  return Object.keys(errors.byKey);
};

t.test('nothing, null and nulls inside are a pairwise report', async (t) => {
  for (const value of [undefined, null, {}, { formatType: null, lineLength: null }])
    t.strictSame(read(value), { config: resolveConfig({}), errors: { general: [], byKey: {} } });
});

t.test('every format type is taken', async (t) => {
  for (const formatType of FORMAT_TYPE_NAMES) t.strictSame(read({ formatType }).config, resolveConfig({ formatType }));
});

t.test('values at the bounds are taken', async (t) => {
  const config = { numDescriptions: 0, numAlignments: 2_147_483_647, lineLength: 1 };
  t.strictSame(read(config).config, resolveConfig(config));
  t.strictSame(read({ maxTargetSequences: 5 }).config, resolveConfig({ maxTargetSequences: 5 }));
});

t.test('values beyond them are faults under their keys', async (t) => {
  t.strictSame(read({ maxTargetSequences: 4 }), {
    config: undefined,
    errors: {
      general: [],
      byKey: { 'blastConfig.maxTargetSequences': ['is 4; a whole number from 5 to 2147483647 is required'] },
    },
  });
  t.strictSame(
    keysOf({ showGIs: 'yes', numDescriptions: -1, numAlignments: 2_147_483_648, lineLength: 0, parseDefLines: 1 }),
    ['showGIs', 'numDescriptions', 'numAlignments', 'lineLength', 'parseDefLines'].map((name) => `blastConfig.${name}`),
  );
  t.strictSame(keysOf({ formatType: 'morse' }), ['blastConfig.formatType']);
  t.strictSame(keysOf({ sortHits: 'by-name', sortHSPs: 1.5 }), ['blastConfig.sortHits', 'blastConfig.sortHSPs']);
  t.strictSame(keysOf({ formatType: 'csv', formatFields: ['qseqid', 'x', 3] }), [
    'blastConfig.formatFields[1]',
    'blastConfig.formatFields[2]',
  ]);
  t.strictSame(keysOf({ formatType: 'csv', formatFields: new Array(1_001).fill('qseqid') }), [
    'blastConfig.formatFields',
  ]);
  t.strictSame(keysOf({ lineLenght: 60 }), ['blastConfig.lineLenght']);
  for (const value of [7, 'pairwise', [], true]) t.strictSame(keysOf(value), ['blastConfig']);
});

t.test('a wrong value and a wrong combination are told at once', async (t) => {
  t.strictSame(keysOf({ formatType: 'tabular', sortHits: 'by-name', formatFields: ['frames'], lineLength: 60 }), [
    'blastConfig.sortHits',
    'blastConfig.lineLength',
    'blastConfig.formatType',
    'blastConfig.formatFields',
  ]);
});
