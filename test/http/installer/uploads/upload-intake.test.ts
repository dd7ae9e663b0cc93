import { once } from 'node:events';
import t from 'tap';
import { probeUpload } from '../../../../http/installer/uploads/upload-intake.ts';
import { Faults } from '../../../../http/kernel/input/faults.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { dataTypes } from '../installation.ts';

t.test('a server that does not answer in time is 424', async (t) => {
  const clock = new VirtualClock();
  const [type] = dataTypes().all();
  if (!type) throw new Error('no type');
  const silent = {
    probe: async (_url: URL, signal: AbortSignal) => {
      await once(signal, 'abort');
      throw signal.reason;
    },
  };
  const url = new URL('https://data.example/genes.txt?key=1');
  const probing = probeUpload(url, silent, type, new Faults(), clock, new AbortController().signal);
  const told = t.rejects(probing, {
    code: 424,
    message: 'https://data.example did not answer within 60 s',
    extra: { dependency: url.href },
  });
  t.equal(await clock.advanceToNext(), true);
  await told;
});
