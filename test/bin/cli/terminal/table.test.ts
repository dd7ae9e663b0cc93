import t from 'tap';
import { listing, table } from '../../../../bin/cli/terminal/table.ts';
import { FakeTerminal } from '../../../fakes/fake-terminal.ts';

const COLUMNS = [
  { head: 'id', whole: true },
  { head: 'size', align: 'right' },
  { head: 'state' },
  { head: 'name' },
] as const;
const ROWS = [
  ['a1b2c3d4e5f6', 7, 'installed', 'Genes of interest in four strains'],
  ['b', 12_345, 'import failed (a message that goes on)', '世界\u001b[2J\nlist'],
] as const;

t.test('is whole where there is no terminal', async (t) => {
  t.equal(
    table(COLUMNS, ROWS, undefined),
    [
      'id             size  state                                   name',
      'a1b2c3d4e5f6      7  installed                               Genes of interest in four strains',
      'b             12345  import failed (a message that goes on)  世界 list',
      '',
    ].join('\n'),
  );
});

t.test('fits the terminal: the widest columns give way first, ids and numbers never', async (t) => {
  t.equal(
    table(COLUMNS, ROWS, new FakeTerminal(60)),
    [
      'id             size  state               name',
      'a1b2c3d4e5f6      7  installed           Genes of interest …',
      'b             12345  import failed (a …  世界 list',
      '',
    ].join('\n'),
  );
  for (const width of [40, 60, 80, 100, 200])
    for (const line of table(COLUMNS, ROWS, new FakeTerminal(width)).split('\n'))
      t.ok(line.length <= width, `${width}`);
  t.match(table(COLUMNS, ROWS, new FakeTerminal(10)), /^a1b2c3d4e5f6 {6}7 {2}insta… {2}Genes…$/m);
});

t.test('without rows there is nothing', async (t) => {
  t.equal(table(COLUMNS, [], undefined), '');
});

t.test('a listing cuts values only', async (t) => {
  const rows = [
    ['id', 'a1'],
    ['a long name here', 'x\ny'],
    ['summary', 'Genes of interest'],
  ] as const;
  t.equal(
    listing(rows, undefined),
    'id                a1\na long name here  x y\nsummary           Genes of interest\n',
  );
  t.match(listing(rows, new FakeTerminal(30)), 'summary           Genes of in…\n');
});
