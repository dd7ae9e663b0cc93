import t from 'tap';
import { sparkline } from '../../../../bin/cli/terminal/sparkline.ts';

t.test('a curve is as high as its largest value', (t) => {
  t.equal(sparkline([0, 1, 2, 3, 4, 5, 6, 7]), '▁▂▃▄▅▆▇█');
  t.equal(sparkline([0, 0.001, 1_000]), '▁▂█', 'what is not zero can be seen');
  t.equal(sparkline([0, 0]), '▁▁');
  t.equal(sparkline([null, 3, null]), ' █ ');
  t.equal(sparkline([]), '');
  t.end();
});
