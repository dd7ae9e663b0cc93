import t from 'tap';
import { Questions } from '../../../../bin/cli/terminal/questions.ts';
import { FakeKeyboard } from '../../../fakes/fake-keyboard.ts';

function setup(signal = new AbortController().signal) {
  const keyboard = new FakeKeyboard();
  let shown = '';
  const questions = new Questions(
    keyboard,
    (text) => {
      shown += text;
    },
    signal,
  );
  return { keyboard, questions, shown: () => shown };
}

t.test('an answer is shown as it is typed, and an empty one takes the default', async (t) => {
  const { keyboard, questions, shown } = setup();
  keyboard.type('ab\u007fc\u001b[D\u001b[3~\r\r');
  t.equal(await questions.ask({ text: 'name' }), 'ac', 'with a correction; arrow keys are ignored');
  t.equal(await questions.ask({ text: 'server', fallback: 'here' }), 'here');
  t.equal(shown(), 'name: ab\b \bc\nserver [here]: \n');
});

t.test('a secret is not shown', async (t) => {
  const { keyboard, questions, shown } = setup();
  keyboard.type('planted\u007fd\n');
  t.equal(await questions.ask({ text: 'password', secret: true }), 'planted');
  t.equal(shown(), 'password: \n');
});

t.test('what is not allowed is asked again', async (t) => {
  const { keyboard, questions, shown } = setup();
  keyboard.type('x\ny\n');
  const refuse = (answer: string) => (answer === 'y' ? undefined : 'y');
  t.equal(await questions.ask({ text: 'yes', refuse }), 'y');
  t.equal(shown(), 'yes: x\n  must be y\nyes: y\n');
});

t.test('Ctrl-C ends it, and so does the signal; the keyboard is given back', async (t) => {
  const { keyboard, questions } = setup();
  keyboard.type('abc\u0003');
  await t.rejects(questions.ask({ text: 'name' }), { kind: 'aborted', message: 'nothing was written' });
  t.equal(keyboard.listeners, 1);
  questions[Symbol.dispose]();
  t.equal(keyboard.listeners, 0);
  const stop = new AbortController();
  const asked = setup(stop.signal).questions.ask({ text: 'name' });
  stop.abort(new Error('SIGTERM'));
  await t.rejects(asked);
});
