import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { showUpload } from '../../../../bin/cli/client/transfer.ts';
import { FakeTerminal } from '../../../fakes/fake-terminal.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const dir = t.testdir();
const [small, large] = [join(dir, 'small.txt'), join(dir, 'large.txt')];
await writeFile(small, 'x'.repeat(1_000));
await writeFile(large, 'x'.repeat(3_000));

/** What the terminal shows when so much was sent, and at the end. */
async function shown(files: readonly string[], pieces: readonly number[], quiet = false) {
  const terminal = new FakeTerminal(100);
  const clock = new VirtualClock();
  const lines: string[] = [];
  const send = async ({ sent }: { readonly sent?: (count: number) => void }): Promise<string> => {
    for (const count of pieces) {
      sent?.(count);
      await clock.advance(1_000);
      lines.push(terminal.shown().join('\n'));
    }
    return 'accepted';
  };
  const result = await showUpload(files, undefined, send, { quiet }, { errTerminal: terminal, env: {} }, clock);
  return { result, lines, end: terminal.shown().join('\n') };
}

t.test('the progress is that of all files together', async (t) => {
  const { result, lines, end } = await shown([small, large], [1_000, 3_000]);
  t.equal(result, 'accepted');
  t.match(lines[0], /^2 files .* 25% {2}1\.00 kB of 4\.00 kB/);
  t.match(end, /^2 files .*100% {2}4\.00 kB .* in 2 s\n$/);
});

t.test('one file is shown by its name', async (t) => {
  const { lines } = await shown([large], [1_500]);
  t.match(lines[0], /^large\.txt .* 50% {2}1\.50 kB of 3\.00 kB/);
});

t.test('nothing is shown when nobody wants it, nor of what does not pass through here', async (t) => {
  t.strictSame(await shown([small], [1_000], true), { result: 'accepted', lines: [''], end: '' });
  t.strictSame(await shown([], [1_000]), { result: 'accepted', lines: [''], end: '' });
});
