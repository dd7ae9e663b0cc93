import t from 'tap';
import {
  newTraceparent,
  parseTraceparent,
  passedOn,
  type Traceparent,
  traceIdOf,
} from '../../../engine/model/traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const GOOD = `00-${TRACE}-${CALLER}-01`;

function good(): Traceparent {
  const parsed = parseTraceparent(GOOD);
  if (!parsed) throw new Error('not parsed');
  return parsed;
}

t.test('a good one is taken as it is', async (t) => {
  for (const flags of ['00', '01', '02', '03'])
    t.equal(parseTraceparent(`00-${TRACE}-${CALLER}-${flags}`), `00-${TRACE}-${CALLER}-${flags}`);
  t.equal(traceIdOf(good()), TRACE);
});

t.test('flags without a meaning are not passed on', async (t) => {
  t.equal(parseTraceparent(`00-${TRACE}-${CALLER}-ff`), `00-${TRACE}-${CALLER}-03`);
  t.equal(parseTraceparent(`00-${TRACE}-${CALLER}-f0`), `00-${TRACE}-${CALLER}-00`);
});

t.test('of a later version the known parts are taken', async (t) => {
  t.equal(parseTraceparent(`01-${TRACE}-${CALLER}-01`), GOOD);
  t.equal(parseTraceparent(`fe-${TRACE}-${CALLER}-01-what-comes-later`), GOOD);
});

t.test('everything else is none', async (t) => {
  const bad = [
    undefined,
    '',
    'nonsense',
    `ff-${TRACE}-${CALLER}-01`,
    `00-${'0'.repeat(32)}-${CALLER}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${CALLER}-01`,
    `00-${TRACE.slice(1)}-${CALLER}-01`,
    `00-${TRACE}0-${CALLER}-01`,
    `00-${TRACE}-${CALLER.slice(1)}-01`,
    `00-${TRACE}-${CALLER}-1`,
    `00-${TRACE}-${CALLER}-0g`,
    `00-${TRACE}-${CALLER}-01-more`,
    `01-${TRACE}-${CALLER}-01x`,
    `0-${TRACE}-${CALLER}-01`,
    ` ${GOOD}`,
    `${GOOD} `,
    `${GOOD}\n`,
    `${GOOD}, ${GOOD}`,
    GOOD.replaceAll('-', '_'),
  ];
  for (const text of bad) t.equal(parseTraceparent(text), undefined, JSON.stringify(text));
});

t.test('a new one is good, not sampled and never the same', async (t) => {
  const [one, other] = [newTraceparent(), newTraceparent()];
  t.match(one, /^00-[0-9a-f]{32}-[0-9a-f]{16}-02$/);
  t.equal(parseTraceparent(one), one);
  t.not(traceIdOf(one), traceIdOf(other));
});

t.test('what is passed on is of the same trace, with the same flags and another id of the caller', async (t) => {
  const one = good();
  const next = passedOn(one);
  t.match(next, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  t.not(next, one);
  t.equal(parseTraceparent(next), next);
});
