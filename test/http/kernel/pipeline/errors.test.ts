import t from 'tap';
import { aborted, Busy, defect, kindOf, rejected, transient } from '../../../../engine/runtime/failure.ts';
import {
  ERROR_CODES,
  type ErrorWord,
  HttpError,
  toHttpError,
  tooLarge,
  unavailable,
} from '../../../../http/kernel/pipeline/errors.ts';
import { INSTALLER_ROWS } from '../../../contract/installer.ts';

t.test('the contract has each status word with its code, and no other', async (t) => {
  const rows = Object.entries(INSTALLER_ROWS).flatMap(([id, rule]): readonly (readonly [string, number])[] => {
    const [, code] = /^errors\/(\d+)$/.exec(id) ?? [];
    if (code !== undefined) return [[rule.split(';')[0] ?? '', Number(code)]];
    const [, word = ''] = /^errors\/(.+)$/.exec(id) ?? [];
    const [, told] = /^code not shown: (\d+)/.exec(rule) ?? [];
    return word === '' || told === undefined ? [] : [[word, Number(told)]];
  });
  t.strictSame(Object.fromEntries(rows), ERROR_CODES);
});

t.test('an answer of up to 499 is the fault of the caller, 503 may pass, every other one is ours', async (t) => {
  const words = Object.keys(ERROR_CODES) as ErrorWord[];
  const ours = words.filter((word) => kindOf(new HttpError(word, 'text')) !== 'rejected');
  t.strictSame(ours, ['server-error']);
  t.equal(kindOf(new HttpError('server-error', 'text')), 'defect');
  t.equal(kindOf(tooLarge('text')), 'rejected');
  t.equal(kindOf(unavailable('text', 5)), 'transient');
});

t.test(
  'what may pass is 503, what the caller can mend 400, and of anything else no word leaves the process',
  async (t) => {
    const told = (error: unknown) => {
      const { code, word, message, headers } = toHttpError(error);
      return { code, word, message, headers };
    };
    const internal = { code: 500, word: 'server-error', message: 'internal error', headers: {} };
    t.strictSame(told(rejected('no such part')), {
      code: 400,
      word: 'bad-request',
      message: 'no such part',
      headers: {},
    });
    t.match(toHttpError(new Busy('the store is held already', 7)), { message: 'the store is held already', code: 503 });
    t.strictSame(told(transient('database secret at 10.0.0.1 is away')), {
      code: 503,
      word: 'server-error',
      message: 'a part of the service cannot be reached just now; try again',
      headers: { 'retry-after': '5' },
    });
    for (const error of [defect('secret'), aborted('secret'), new Error('secret'), 'secret', undefined])
      t.strictSame(told(error), internal);
    const own = tooLarge('text');
    t.equal(toHttpError(own), own);
  },
);
