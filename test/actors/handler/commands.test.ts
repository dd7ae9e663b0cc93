import t from 'tap';
import { scriptMessage } from '../../../actors/handler/commands.ts';

const USER = '{"error": "user", "message": "bad row"}';

t.test('the last complete object of standard error speaks', async (t) => {
  const user = { fault: 'user', message: 'bad row' };
  const cases: readonly (readonly [string, unknown])[] = [
    [USER, user],
    [`log line\n${USER}\n`, user],
    [`log {with a brace\n${USER}`, user],
    [`log {with} braces} {\n${USER}\nTraceback {`, user],
    [`{"error":"unknown","message":"first"}\n${USER}`, user],
    [`${USER}{"error":"unknown","message":"last"}`, { fault: 'handler', message: 'last' }],
    ['{"error":"USER","message":"x"}', { fault: 'handler', message: 'x' }],
    [
      '{"error":"user","message":"a } in {text} and \\" quotes"}',
      { fault: 'user', message: 'a } in {text} and " quotes' },
    ],
    ['{\n  "message": "many\\nlines",\n  "error": "user"\n}', { fault: 'user', message: 'many\nlines' }],
    ['{"outer": {"error":"user","message":"inner"}}', undefined],
    [`${USER}\n{"other": 1}`, undefined],
    ['{"error":"user","message":1}', undefined],
    ['{"error":"user"}', undefined],
    ['{"error":"user","message":"cut', undefined],
    ['plain text', undefined],
    ['', undefined],
  ];
  for (const [stderr, expected] of cases) t.strictSame(scriptMessage(stderr), expected, stderr);
});

t.test('64 KiB of braces that never close cost no time to speak of', async (t) => {
  const before = process.cpuUsage();
  t.equal(scriptMessage('{'.repeat(65_536)), undefined);
  t.match(scriptMessage('{'.repeat(65_000) + USER), { message: 'bad row' });
  const { user } = process.cpuUsage(before);
  t.ok(user < 1_000_000, `${user} µs`);
});
